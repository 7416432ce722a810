// Package clusterrelease decides which release a hosted cluster runs, and records which
// releases it has run.
//
//	Checker   reads the releases that a user chooses, and checks them      checker.go
//	          before the control plane gets them
//	steps     versions and architectures that a control plane can take     upgrade.go
//	State     what the control plane gets, and the history in the status   state.go
//
// A HostedCluster names one release, or two: one for what runs inside the cluster,
// and one for its control plane. A running cluster keeps its releases until both new
// ones pass the checks.
package clusterrelease
