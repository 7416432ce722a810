// Package cloud is AWS for a lab: the emulator, and what makes it more than an API.
//
//	cloud.go       emulator ─► account of the management cluster, in the network of the machines
//	instances.go   an EC2 instance for each machine of the management cluster
//	workers.go     instances of customers, each of which is to be a machine
//	changes.go     what was called ─► when to look again
//	status.go      what there is, for people and for other processes
//
//	test/fixture/cloudcontroller   Services of type LoadBalancer ─► load balancers in the account   (a process of the lab)
//	test/lab/balancer          load balancers ─► addresses that take connections
//	test/lab/resolver          their host names, endpoints and records ─► these addresses
package cloud
