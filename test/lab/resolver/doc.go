// Package resolver is the DNS server of a lab. It resolves the names that the resolvers of all VPCs resolve:
//
//	read.go      records of hosted zones, names of VPC endpoints, host names of load balancers
//	names.go     name ─► aliases and addresses, from the last read
//	server.go    DNS; other names are forwarded, or do not exist
//
//	api.demo.hypershift.local ─record─► name of an endpoint ─endpoint service─► load balancer ─► its address in the lab
package resolver
