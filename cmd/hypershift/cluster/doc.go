// Package cluster implements the commands `create cluster aws` and `destroy cluster aws`.
//
//	flags.go          the flags of create
//	request.go        Request: what flags and files ask for
//	target.go         Target: the request, and what the management cluster and AWS have answered
//	  check.go        checks before the first call of AWS
//	  prerequisites.go    checks of the account, zones
//	create.go         Request, Target, then render, plan, or apply and wait
//	  render.go       prints the objects, without any call
//	  graph.go        one graph of the network, the roles and the objects: to plan and to apply
//	  objects.go      the nodes of the objects in the management cluster
//	destroy.go        the steps of a deletion: HostedCluster, then roles and network, then Secrets
//	  destruction.go  the cluster to delete, and its objects
//	  hostedcluster.go    deletion of the HostedCluster, whose finalizer keeps the infraID until all is deleted
//	record.go         the file with the infraID of a cluster that does not exist yet
//
// Every step finds the resources of an earlier run. A command that ended early is continued by the same command.
package cluster
