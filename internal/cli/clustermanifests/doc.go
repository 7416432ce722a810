// Package clustermanifests makes the objects of a hosted cluster on AWS from a user's request. `hypershift create cluster aws` and
// `create nodepool aws` create or print them.
//
//	cluster.go   the user's request, and the HostedCluster
//	services.go  how the control plane is published
//	nodepool.go  a NodePool
//	secrets.go   the Secrets and ConfigMaps to which the HostedCluster refers
//	validate.go  the checks of the operator, before anything exists
//	yaml.go      the objects as text
//
// All functions are pure: the same input gives the same objects. Names, labels and defaults follow the hypershift command line of
// OpenShift.
package clustermanifests
