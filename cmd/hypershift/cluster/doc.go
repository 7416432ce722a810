// Package cluster implements the commands `create cluster aws` and `destroy cluster aws`.
//
//	create.go   check, then AWS, then the objects of the management cluster, then wait
//	identify.go the account, the infraID and the issuer of the cluster to create
//	check.go    checks before anything exists
//	plan.go     the resources to create or change
//	objects.go  the objects of the management cluster
//	render.go   print the objects, without any call
//	flags.go    flags in, a clustermanifests.Cluster out
//	destroy.go  HostedCluster, then roles, then network
//	record.go   the file with the infraID of a cluster that does not exist yet
//
// Every step finds the resources of an earlier run. A command that ended early is continued by the same command.
package cluster
