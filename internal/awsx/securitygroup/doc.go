// Package securitygroup keeps the security groups of the VPC endpoints.
//
//	Ensure:  find by owner and role ── none ──► create
//	                │                             │
//	                └────────── rules: authorize what is missing, then revoke
//	                            what is not wanted ──► tags
//
// Rules are compared one by one: EC2 shows all sources of a port as one
// permission, whatever the calls were that made them. Egress stays as EC2
// makes it; an endpoint answers and never calls.
package securitygroup
