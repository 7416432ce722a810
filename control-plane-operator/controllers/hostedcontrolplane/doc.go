// Package hostedcontrolplane publishes a HostedControlPlane and reports its status to users.
//
//	live                                       deleted
//	  finalizer                                  exposure   AWSEndpointServices first: their load balancers
//	  configuration  validates publishing                   AWS keeps, then Services and their load balancers
//	  exposure       Services and Routes of      finalizer
//	                 the access mode
//	  hosts     ┐    host and port of each
//	  admission ┘    what the router serves
//
// The table in access.go defines which Services and Routes exist. services.go and routes.go are pure functions of it: a
// change of the access mode gives another result of the same functions, and the other objects are pruned.
package hostedcontrolplane
