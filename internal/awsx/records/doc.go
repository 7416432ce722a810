// Package records keeps the DNS records under which a VPC finds its control
// plane, in a private hosted zone that somebody else made.
//
//	Find:    by name and VPC, exactly one        Given: by id, checked
//	Ensure:  list ── compare ──► one batch of what differs, or nothing
//	Delete:  list ──► one batch that deletes what stands, as it stands
//
// A zone can be shared by mistake: two clusters with one name. Whether a
// record that we did not write may be replaced or deleted is the caller's
// answer to the question whose endpoint it points to.
package records
