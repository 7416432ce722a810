// Package hostedcontrolplane drives a HostedControlPlane: how it is reached,
// and what its user is told about it.
//
//	living                                     deleted
//	  finalizer                                  exposure   AWSEndpointServices first, whose load balancers
//	  configuration  can it be published so?                AWS keeps, then Services and their load balancers
//	  exposure       Services and Routes of      finalizer
//	                 the access mode
//	  hosts     ┐    host and port of each
//	  admission ┘    what the router serves
//
// Which Services and Routes there are is decided by the table in access.go and
// by services.go and routes.go, which are pure: a change of the access mode is
// another result of the same functions, and what is no longer in it is pruned.
package hostedcontrolplane
