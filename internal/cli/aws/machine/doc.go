// Package machine is an instance of EC2 with a security group of its own, as nodes of a graph: the bastion and the proxy of a cluster.
//
//	machine.go   what a machine is, and its lists
//	group.go     the security group and its rules
//	instance.go  the instance
//
// The instance runs the newest Amazon Linux 2023. Its metadata need a token, its volume is encrypted, and no key may log in.
package machine
