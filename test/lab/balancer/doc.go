// Package balancer makes the network load balancers of the AWS emulator forward traffic:
//
//	balancer.go    each interval: read ─► compare ─► start, change, stop
//	  read.go        load balancers, listeners, target groups, targets, from the API
//	  pool.go        an address for each load balancer
//	listener.go    address and port of a load balancer ─► connections
//	  group.go       choice of a target: a healthy one, or any if none is healthy, like AWS
//	  target.go      health checks; connections of unhealthy and deregistered targets
//	  pipe.go        bytes in both directions
//	snapshot.go    current state, for users and for the resolver
//
// It has the properties of such a load balancer in AWS that a control plane depends on: a connection stays with its target, and is
// never retried with another one; a deregistered target keeps its connections for some time; an unhealthy one loses them. Health
// checks are more frequent than those of AWS, so that tests do not wait half a minute for them.
package balancer
