// Package aws is the provider's half of PrivateLink: one VPC endpoint service in
// the account of the management cluster for every AWSEndpointService.
//
//	Reconcile   which cluster is this for? paused? then, in order:
//
//	  live      claim              finalizer and owner, before anything exists in AWS;          claim.go
//	                               spec.subnetIDs: the subnets of all pools of the cluster      subnets.go
//	            endpoint service   load balancer active ► service made, adopted, put right ►
//	                               principals ► name, zones and condition in status             service.go
//
//	  dying     endpoint service   wait for the customer's half to go; delete; cut off who
//	                               is still connected then; wait until AWS is done              delete.go
//	            finalizer
//
// The object has two writers. Ours are the claim, in one write, and, in status, the name of
// the service, its load balancer, its zones and the condition
// AWSEndpointServiceAvailable; the rest is the control-plane-operator's. What we
// write ourselves does not wake us up (setup.go).
//
// What AWS says is shared by all objects (packages loadbalancer, endpointservice):
// a pass that has nothing new to ask makes no call.
package aws
