// Package aws is the provider's half of PrivateLink: one VPC endpoint service in
// the account of the management cluster for every AWSEndpointService.
//
//	Reconcile   which cluster is this for? paused? then, in order:
//
//	  live      claim              finalizer, before anything exists in AWS;                    claim.go
//	                               spec.subnetIDs: the subnets of all pools of the cluster      subnets.go
//	            endpoint service   load balancer is that of the Service, and active ►           balancer.go
//	                               owner, account and region recorded on the Namespace ►        record.go
//	                               service made, adopted, put right ► principals ►
//	                               name, zones and condition in status                          service.go
//
//	  dying     endpoint service   wait for the customer's half to go; delete what the record
//	                               names; cut off who is still connected then; wait until
//	                               AWS is done                                                  delete.go
//	            finalizer
//
// A tenant decides what runs as the control-plane-operator, which may write
// AWSEndpointServices, their status and annotations too, and patch the
// HostedControlPlane. What stands there is a wish or a hint. Whose service it is
// is told by the UID of the HostedControlPlane, by the HostedCluster that the
// Namespace names, and, when they are gone, by the record on the Namespace; whose
// load balancer, by the status of the Service; whose resource in AWS, by its tags.
//
// The object has two writers. Ours are the claim, in one write, and, in status, the name of
// the service, its load balancer, its zones and the condition
// AWSEndpointServiceAvailable; the rest is the control-plane-operator's. What we
// write ourselves does not wake us up (setup.go).
//
// What AWS says is shared by all objects (packages loadbalancer, endpointservice):
// a pass that has nothing new to ask makes no call.
package aws
