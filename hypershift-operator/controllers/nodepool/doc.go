// Package nodepool says of a NodePool what this version makes of it: the subnet
// that it names feeds the endpoint of its private cluster (package
// platform/aws), and no machines are made yet.
//
//	Reconcile   is its HostedCluster there? is it paused? ► conditions
//
// It owns nothing, so deletion needs no finalizer: a pool that is deleted is gone.
package nodepool
