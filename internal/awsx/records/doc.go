// Package records manages the DNS records by which a VPC resolves its control plane,
// in a private hosted zone of the customer.
//
//	Find:    by name and VPC, exactly one        Given: by id, checked
//	Ensure:  list ── compare ──► one batch of what differs, or nothing
//	Delete:  list ──► one batch that deletes the sets as they are listed
//
// A zone can be shared by mistake, by two clusters with one name. The caller decides
// by the target of a record that we did not write whether it may be replaced or
// deleted.
package records
