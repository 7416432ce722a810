// Package resolver is the DNS server of a lab, with the views that the resolvers of VPCs have:
//
//	names.go     hosted zones, names of VPC endpoints, load balancers and instances ─► aliases and addresses
//	server.go    DNS; other names are forwarded, or do not exist
//
//	api.demo.hypershift.local ─record of a private zone─► name of an endpoint ─► the addresses of its interfaces
//
// A private zone answers only in its VPCs, and there it answers alone: a name that it does not have does not exist, even if a public
// zone has it.
package resolver
