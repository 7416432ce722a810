// Package cluster has the commands `create cluster aws` and `destroy cluster aws`.
//
//	create.go   check, then AWS, then the objects of the management cluster, then wait
//	identify.go the account, the infraID and the issuer of the cluster to create
//	check.go    what can be checked before anything exists
//	plan.go     what would be created or changed
//	objects.go  the objects of the management cluster
//	render.go   print the objects, without any call
//	flags.go    flags in, a clustermanifests.Cluster out
//	destroy.go  HostedCluster, then roles, then network
//	record.go   the file that has the infraID of a cluster that does not exist yet
//
// Every step finds what an earlier run has done. A command that ended early is continued by the same command.
package cluster
