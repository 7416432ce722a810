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
// It has the properties of such a load balancer in AWS that a control plane depends on. Health checks are more frequent than in AWS, so
// that tests do not wait half a minute for them.
//
//	| Property                                                                       | Where                    | Source
//	| a connection stays with its target, and is never retried with another one      | listener.go, forward     | [1]
//	| a deregistered target keeps its connections for the deregistration delay       | target.go, run           | [2]
//	| an unhealthy target loses its connections                                      | target.go, check         | [1]
//	| if no target is healthy, all are                                               | group.go, pick           | [3]
//	| without cross-zone load balancing, only targets of the client's zone           | group.go, pick; Entry    | [4]
//	| targets are instances or addresses; instances get the addresses of clients     | read.go, attributes      | [2]
//	| a target that gets the addresses of clients does not reach itself              | group.go, loops          | [5]
//	| clients of an endpoint pass the rules of the load balancer's security groups   | Entry.Allows             | [6]
//	| with the PROXY protocol, a header precedes the bytes of the client             | listener.go, forward     | [9]
//	| a connection without packets is forgotten after 350 s, and answered with RST   | pipe.go, forget          | [7]
//
// Targets of the lab never get the addresses of clients: the source is an address of the load balancer. So the security groups of targets see
// that address, which is a difference to AWS for load balancers without security groups. Package vpc limits the packets of
// endpoints to 8,500 bytes [8].
//
//	[1] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/introduction.html
//	[2] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
//	[3] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
//	[4] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
//	[5] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-troubleshooting.html
//	[6] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
//	[7] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/update-idle-timeout.html
//	[8] https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html
//	[9] https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html#proxy-protocol
package balancer
