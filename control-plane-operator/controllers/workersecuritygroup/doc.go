// Package workersecuritygroup keeps the security group that every worker of a
// cluster is in, in the VPC of the customer.
//
//	living                                          deleted
//	  platform        which VPC?                      roles           as recorded
//	  record          finalizer, and what deletion    security group  when it is no longer used
//	                  will need                       settling        what may just have been made is listed
//	  roles           session with AWS                finalizer
//	  security group  found or made, rules and tags
//	                  as they should be
//
// Its rules are in rules.go: what nodes say to each other, and how people of
// the VPC reach a node. Other rules from networks are revoked, but for those
// that load balancers of the hosted cluster need: cloud controllers write these.
//
// The look at AWS is the one of the endpoints' security groups, where there are
// endpoints: a private cluster pays nothing for this one.
package workersecuritygroup
