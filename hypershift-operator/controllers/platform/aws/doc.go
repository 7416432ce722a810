// Package aws is the provider's half of PrivateLink: one VPC endpoint service in
// the account of the management cluster for every AWSEndpointService.
//
//	Reconcile   which cluster is this for? paused? then, in order:
//
//	  live      finalizer and subnets, before anything exists in AWS:                           claim.go
//	                               spec.subnetIDs lists the subnets of all pools                subnets.go
//	            endpoint service   the Service's load balancer, which is active ►               balancer.go
//	                               owner, account and region recorded on the Namespace ►        record.go, package ledger
//	                               service created, adopted, repaired ► principals ►
//	                               name, zones and condition in status                          service.go
//
//	  dying     deletion of the endpoint service:
//	                               wait until the customer's half is deleted; delete what the
//	                               record names; reject endpoints that are still connected;
//	                               wait until AWS is done                                       delete.go
//	            finalizer
//
// Clusters with the shared router share one service, see shared.go.
//
// A tenant chooses the image of the control-plane-operator, which may write
// AWSEndpointServices with their status and annotations, and patch the
// HostedControlPlane. Their content is a request or a hint. The owner of a service is
// known from the UID of the HostedControlPlane, from the HostedCluster that the
// Namespace names, and, when they are gone, from the record on the Namespace; the
// owner of a load balancer from the status of the Service; the owner of a resource
// in AWS from its tags.
//
// The object has two writers. We write the claim, in one write, and, in status, the
// name of the service, its load balancer, its zones and the condition
// AWSEndpointServiceAvailable. The control-plane-operator writes the rest. Our own
// writes do not start a reconcile (setup.go).
//
// All objects share the cached lists of AWS (packages loadbalancer, endpointservice):
// a reconcile without news makes no call. A service with an endpoint that seems cut off is compared
// with AWS at once, and then less and less often (comparison.go).
package aws
