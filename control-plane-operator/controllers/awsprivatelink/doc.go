// Package awsprivatelink connects the VPC of a hosted cluster's workers to its
// control plane, in the customer's AWS account.
//
// Two controllers share the work. Observer watches the control plane and its
// internal Services, and keeps one AWSEndpointService for each of them that
// has a network load balancer. Reconciler drives one AWSEndpointService:
//
//	living                                  deleted
//	  control plane   who and where           roles          as they were recorded
//	  record          finalizer, what         private names  ExternalName Services
//	                  deletion will need      records        what stands, if it is ours
//	  roles           session with AWS        endpoint       and wait until it is gone
//	  security group ┐                        security group
//	  subnets        ┘ one per served zone    settling       if an id was never written down
//	  endpoint        until it is available   sweep          by owner tag, with the last one
//	  records         api and *.apps          finalizer
//	  private names   ExternalName Services
//	  verdict         subnets of no use
//
// The subnets of the endpoint are decided in subnets.go. What one look at AWS
// has told is shared by all AWSEndpointServices of the cluster (account.go).
package awsprivatelink
