// Package infra is the network and the hosted zones of a hosted cluster in the customer's account, as a graph of resources.
// `hypershift create infra aws` creates them, and `destroy infra aws` deletes them.
//
//	spec.go      the user's request; names, addresses and tags
//	cloud.go     clients and lists
//	network.go   VPC, DHCP options, internet gateway, subnets
//	routes.go    addresses, NAT gateways, route tables, the endpoint of S3
//	proxy.go     the proxy of nodes that have no NAT gateway
//	sharing.go   the share of a VPC that belongs to another account than the cluster
//	workers.go   a security group for nodes
//	zones.go     public zone (looked up) and private zones
//	output.go    the JSON file that `create cluster` reads
//	discover*.go everything with the ownership tag, for deletion
//
// Names, tags and addresses are the same as in the hypershift command line of OpenShift, so that either deletes the resources that the
// other has created.
package infra
