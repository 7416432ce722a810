// Package balancer lets the network load balancers of the AWS emulator carry traffic:
//
//	balancer.go    each interval: read ─► compare ─► start, change, stop
//	  read.go        load balancers, listeners, target groups, targets, as the API tells them
//	  pool.go        an address for each load balancer
//	listener.go    address and port of a load balancer ─► connections
//	  group.go       a healthy target, else any: AWS does the same
//	  target.go      health checks; what a target that falls ill or leaves means for its connections
//	  pipe.go        bytes, both ways
//	snapshot.go    what exists, for people and for the resolver
//
// It does what AWS promises of such a load balancer, as far as a control plane can tell: a connection stays with its target, and
// none is tried again elsewhere; a target that has left keeps its connections for a while; one that is ill loses them. Checks
// come more often than those of AWS, so that nobody waits half a minute for a node to be noticed.
package balancer
