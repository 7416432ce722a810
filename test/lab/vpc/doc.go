// Package vpc is the network of VPCs in a lab. Each VPC of a customer is a network namespace with the router that AWS runs for it:
//
//	instance (machine)          namespace of the VPC                            the lab's own network
//	┌────────────┐   veth    ┌───────────────────────────────────────┐   veth   ┌──────────────────────────────┐
//	│ eth0       ├───────────┤ eni…   security groups, source check  ├──────────┤ vpcN   the internet:         │
//	│ 10.1.0.5   │           │        (groups.go)                    │ internet │        AWS APIs, registry,   │
//	└────────────┘           │ router 10.1.0.1  gateway of subnets   │          │        public load balancers │
//	                         │        10.1.0.2  DNS                  │          └──────────────────────────────┘
//	                         │        169.254.169.254  metadata      │
//	                         │        addresses of endpoints ════════╪══ listeners of the lab's load balancers
//	                         └───────────────────────────────────────┘
//
//	network.go    state of all accounts, from the emulator ─► VPCs
//	router.go     namespace, links, addresses, routes of a VPC
//	groups.go     security groups and ways to the internet ─► nftables, pure
//	internet.go   limits of what VPCs reach in the lab
//	endpoints.go  interfaces of endpoints ─► entries of load balancers
//	metadata.go   instance metadata, with the hop limit of each instance
//	sockets.go    sockets in the namespace
//
// The router of the management VPC is the lab's own network, which has no link to the internet: it is there.
//
// VPCs share no network: their addresses may overlap. There is no way from a VPC to the machines of the management cluster, or to another
// VPC, but through load balancers.
package vpc
