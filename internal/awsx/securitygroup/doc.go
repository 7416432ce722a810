// Package securitygroup keeps the security groups of a cluster: those of its VPC
// endpoints and that of its workers.
//
//	Ensure:  find by owner and role ── none ──► create
//	                │                             │
//	                └────────── rules: authorize what is missing, then revoke
//	                            what is not wanted ──► tags
//
// Rules are compared one by one: EC2 shows all sources of a port as one
// permission, whatever the calls were that made them. A rule that is not wanted
// is revoked, unless whoever asks for the group leaves it to somebody else.
// Egress stays as EC2 makes it: an endpoint answers and never calls, and workers
// may call everybody.
package securitygroup
