// Package cloud is AWS for a lab: the emulator, and everything that makes its resources work.
//
//	cloud.go       emulator ─► account of the management cluster, in the network of the machines
//	instances.go   an EC2 instance for each machine of the management cluster
//	workers.go     instances of customers, each of which becomes a machine
//	vpcs.go        networks of VPCs, their endpoints ─► load balancers
//	s3.go          public names of S3 and STS over TLS ─► emulator
//	changes.go     log of calls ─► when to read the accounts again
//	status.go      the current state, for users and for other processes
//
//	test/fixture/cloudcontroller   Services of type LoadBalancer ─► load balancers in the account   (a process of the lab)
//	test/lab/balancer          load balancers ─► addresses that accept connections
//	test/lab/resolver          host names, endpoints and records ─► addresses, for each VPC
//	test/lab/vpc               limits of what instances reach
package cloud
