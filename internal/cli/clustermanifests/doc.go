// Package clustermanifests makes the objects of a hosted cluster on AWS from what a user asks for: what `hypershift create cluster
// aws` and `create nodepool aws` create or print.
//
//	cluster.go   what a user asks for, and the HostedCluster
//	services.go  how the control plane is published
//	nodepool.go  a NodePool
//	secrets.go   the Secrets and ConfigMaps to which the HostedCluster refers
//	validate.go  the checks of the operator, before anything exists
//	yaml.go      the objects as text
//
// All functions are pure: the same input gives the same objects. Names, labels and defaults are those of the hypershift command line
// of OpenShift.
package clustermanifests
