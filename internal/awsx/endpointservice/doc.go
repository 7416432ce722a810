// Package endpointservice keeps VPC endpoint services: the provider's side of
// PrivateLink, in the account of the management cluster.
//
//	Ensure   known by owner tag? ──no──► known by the name we once recorded? ──no──► create
//	             └─────────────yes─────────────┴─► compare load balancer, acceptance, tags; then principals
//	Delete   every service of the owner ──► deleted ──► confirmed gone
//	                                  └──► still connected: say by which endpoints, reject when told to
//
// All look-ups share one listing of the account (package snapshot). A service is
// ours if it carries our owner tag. One without, whose name was recorded, is taken
// back if it is on our load balancer and nobody else's by its tags; only what
// carries our tag is ever deleted.
package endpointservice
