// Package clusterrelease decides which release a hosted cluster runs, and records which
// releases it has run.
//
//	Checker   reads the releases that a user chooses, and checks them      checker.go
//	          before the control plane gets them
//	steps     versions and architectures that a control plane can take     upgrade.go
//	State     the applied releases, and the history in the status          state.go
//
// A HostedCluster names one release, or two: one for the workloads inside the cluster, and one for its
// control plane. A running cluster keeps its releases until both new ones pass the checks.
package clusterrelease
