// Package cloudcleanup empties a hosted cluster before it is deleted: controllers in it have created load balancers, volumes, snapshots
// and instances in the cloud, and only they can delete them.
//
//	resources.go    the objects for which they exist
//	policy.go       rejects new ones                     assets/cleanup.yaml
//	remove.go       deletes the objects
//	controllers.go  which controllers still run
//	report.go       what remains, and what nothing deletes
//	drain.go        only the nodes on demand, after spec.autoNode was removed
package cloudcleanup
