// Package awsprivatelink connects the VPC of a hosted cluster's workers to its
// control plane, in the customer's AWS account.
//
// There are two controllers. Observer watches the control plane and its internal
// Services, and applies one AWSEndpointService for each Service with a network load
// balancer. Reconciler reconciles one AWSEndpointService:
//
//	live                                    deleted
//	  control plane   owner, region, VPC      roles                 as recorded
//	  record          finalizer, what         private names         ExternalName Services
//	                  deletion will need      records               if they are ours
//	  roles           sessions with AWS       endpoint              until it is gone
//	  security group ┐                        security group
//	  subnets        ┘ one per served zone    eventual consistency  if an id was never recorded
//	  endpoint        until it is available   sweep                 by owner tag, with the last object
//	  records         api and *.apps          finalizer
//	  private names   ExternalName Services
//	  verdict         subnets that cannot be used
//
// subnets.go chooses the subnets of the endpoint. All AWSEndpointServices of a
// cluster share the cached lists of AWS (account.go).
package awsprivatelink
