// Package endpoint keeps the interface VPC endpoints through which a
// customer's VPC reaches its control plane.
//
//	Ensure:  find by owner and role ── none ──► create with a token
//	              │                                   │
//	              ├─ dead or of another service ──► delete, create on a later pass
//	              ├─ spare (a second one) ──► delete
//	              └─ alive ──► modify: one step at a time ──► tags
//
// An endpoint that is deleting is nobody's: it is neither adopted nor in the way.
package endpoint
