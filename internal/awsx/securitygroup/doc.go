// Package securitygroup describes a security group, and manages the security groups of a cluster for the operators: the groups of its
// VPC endpoints and of its workers. Package groupnode drives the same description for the command line.
//
//	Spec, Rule, Group     desired and observed groups                            types.go
//	Create, SetIngress    calls of both drivers, texts of rules for plans        group.go
//	  diff                missing and unwanted rules (pure)                      diff.go
//	  WorkerRules         rules of a group for workers                           worker.go
//
//	Manager                                                                      manager.go
//	  Ensure:  find by owner and role ── none ──► create
//	                  │                             │
//	                  └────────── rules: authorize missing ones, then revoke
//	                              the others ──► tags
//	  Delete:  by role, and the recorded id
//	  Users:   which resources prevent a deletion                                users.go
//
// A group of an earlier control plane of the same cluster is adopted: Ensure finds it
// by name.
//
// Rules are compared one by one: EC2 merges all sources of a port into one
// permission. A rule that is not in the spec is revoked, unless the spec leaves it to
// others. Egress stays as EC2 creates it: an endpoint opens no connections, and
// workers may connect anywhere.
package securitygroup
