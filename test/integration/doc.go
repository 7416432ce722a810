// Package integration tests scenarios across controllers and processes: both operators as they are shipped, on a real API server
// with the real cloud-controller-manager, and the AWS emulator.
//
//	main_test.go        one environment for all tests
//	cluster_test.go     the hosted cluster of a test: its own namespace, its own customer account
//	privileges_test.go  after the last test: requests that were denied, and permissions that were not used
//	eventually_test.go  waits for a check, and reports its last error
//	nodes_*_test.go     scenarios with machines: the cluster has an API server, and its instances become nodes
//
// The tests run in parallel; they share the management cluster and its account.
package integration
