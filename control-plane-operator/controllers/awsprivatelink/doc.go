// Package awsprivatelink connects the VPC of a hosted cluster's workers to its
// control plane, in the customer's AWS account.
//
// There are two controllers. Observer watches the control plane and its internal
// Services, and in its step endpoint services applies one AWSEndpointService for each Service with a network load
// balancer. Reconciler reconciles one AWSEndpointService:
//
//	live                                     deleted
//	  control plane      owner, region, VPC    roles                 as recorded
//	  record             see package ledger    resources             in reverse order
//	  roles              sessions with AWS     eventual consistency  ┐
//	  resources          resources.go          sweep                 │ see package ledger
//	  unsupported zones  of subnets            finalizer             ┘
//
// resources.go defines the table of the resources, in the order of their creation. Each has a file.
//
// A cluster that moves to the shared router, or from it, has an AWSEndpointService for each of them meanwhile. observer.go decides how long the
// former one stays, and publishing.Router to which of them the records lead.
//
// subnets.go chooses the subnets of the endpoint. All AWSEndpointServices of a
// cluster share the cached lists of AWS (account.go).
package awsprivatelink
