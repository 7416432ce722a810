// Package workersecuritygroup manages the security group of all workers of a
// cluster, in the VPC of the customer.
//
//	live                                            deleted
//	  platform        the VPC is known                roles                 as recorded
//	  record          see package ledger              security group        when it is no longer used
//	  roles           session with AWS                eventual consistency  if its id was never recorded
//	  security group  found or created; rules and     finalizer
//	                  tags repaired
//
// rules.go defines its rules: traffic between nodes, and access to nodes from the
// networks of the machines. Other rules from networks are revoked, except for the rules of cloud
// controllers for the hosted cluster's load balancers.
//
// It shares the list of security groups with the controller of the endpoints, so
// that it makes no call of its own in a private cluster.
package workersecuritygroup
