// Package endpointservice manages VPC endpoint services: the provider's side of
// PrivateLink, in the account of the management cluster.
//
//	Ensure   found by owner tag? ──no──► found by the recorded name? ──no──► create
//	             └─────────────yes─────────────┴─► compare attributes (attributes.go), tags, principals
//	Delete   every service of the owner ──► deleted ──► confirmed gone
//	                                  └──► still connected: report the endpoints, reject them if requested
//
// All objects share one list of the account (package cache). A service is ours if
// it has our owner tag. A service without it is adopted if its name was recorded,
// it is on our load balancer and its tags name no other owner. Only a service with
// our tag is ever deleted.
package endpointservice
