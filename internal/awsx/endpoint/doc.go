// Package endpoint manages the interface VPC endpoints through which a customer's
// VPC reaches its control plane.
//
//	Ensure:  find by owner and role ── none ──► create with a token
//	              │                                   │
//	              ├─ dead or of another service ──► delete, create on a later pass
//	              ├─ spare (a second one) ──► delete
//	              └─ alive ──► modify one attribute group at a time ──► tags
//
// An endpoint that is being deleted is ignored: it is not adopted, and does not
// prevent the creation of the next.
package endpoint
