// Package integration tests scenarios across controllers: both operators with their shipped permissions, on a real API server with the
// real cloud-controller-manager, and the AWS emulator. The operators run in the process of the tests. No other program of a control
// plane runs: scenarios with its pods or with machines are in test/lab/e2e.
//
//	environment_test.go  one environment for all tests: management cluster, AWS, registry, permissions
//	operators_test.go   the hypershift-operator, and the control-plane-operator of each Deployment that it creates
//	program_test.go     start, restart and kill of one operator
//	cluster_test.go     the hosted cluster of a test: its own namespace, its own customer account
//	privileges_test.go  after the last test: requests that were denied, and permissions that were not used
//	eventually_test.go  waits for a check, and reports its last error
//
// The tests run in parallel; they share the management cluster and its account.
package integration
