// Package integration holds the stories that run across controllers and processes: both operators as they are shipped, on a real
// API server with the real cloud-controller-manager, and the AWS emulator.
//
//	main_test.go        one stage for all tests
//	cluster_test.go     a hosted cluster of one test: its own namespace, its own customer account
//	privileges_test.go  after the last test: what was refused, and what nobody has used
//	eventually_test.go  waiting for something, with the reason when it does not come
//	nodes_*_test.go     stories with machines: the cluster has an API server, and its instances become nodes
//
// The tests run in parallel; what they share is the management cluster and its account.
package integration
