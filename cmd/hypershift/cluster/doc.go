// Package cluster implements the commands `create cluster aws` and `destroy cluster aws`.
//
//	flags.go          the flags
//	request.go        Request: what flags and files ask for
//	target.go         Target: the request, and what the management cluster and AWS have answered
//	  check.go        checks before the first call of AWS
//	  prerequisites.go    checks of the account, zones
//	create.go         Request, Target, then render, plan, or apply and wait
//	  render.go       prints the objects, without any call
//	  plan.go         the resources to create or change
//	  objects.go      the objects of the management cluster
//	destroy.go        HostedCluster, then roles, then network
//	record.go         the file with the infraID of a cluster that does not exist yet
//
// Every step finds the resources of an earlier run. A command that ended early is continued by the same command.
package cluster
