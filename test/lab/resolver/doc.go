// Package resolver is the DNS server of a lab. It knows what the resolver of a VPC knows, of all VPCs at once:
//
//	read.go      records of hosted zones, names of VPC endpoints, host names of load balancers
//	names.go     a question ─► aliases and addresses, of what was read last
//	server.go    DNS; what is outside of AWS is asked elsewhere, or does not exist
//
//	api.demo.hypershift.local ─record─► name of an endpoint ─endpoint service─► load balancer ─► its address in the lab
package resolver
