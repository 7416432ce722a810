// Package machine is an instance of EC2 with a security group of its own, as nodes of a graph: the bastion and the proxy of a cluster.
//
//	machine.go   the machine, its group (package groupnode), and its lists
//	instance.go  the instance
//
// The instance runs the newest Amazon Linux 2023. Its metadata need a token, its volume is encrypted, and no key may log in.
package machine
