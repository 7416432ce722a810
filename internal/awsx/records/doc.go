// Package records manages the DNS records by which a VPC resolves its control plane, in a private hosted zone of the customer, and the
// records of applications.
//
//	Find:    the hosted zone, by name and VPC    Given: the hosted zone with this id, checked
//	NewManager: few records, listed together     NewManagerOf: one name in a zone with many records
//	Ensure:  list ── compare ──► one batch of the differences, or no call
//	Delete:  list ──► one batch that deletes the sets as they are listed
//
// Two clusters with one name can share a zone by mistake. The caller decides by the
// target of a CNAME whether it belongs to another cluster. Sets of other types at
// these names are replaced or deleted, except in the zones of users.
package records
