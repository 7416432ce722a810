// Package machinestate summarizes the state of a pool's machines. It reads Machines and AWSMachines: the counters of a
// MachineDeployment are late, and wrong for a moment after each change.
//
//	groups.go      machines by their state, for condition messages
//	causes.go      why a machine does not become a node, as the control-plane-operator has determined it
//	versions.go    outdated machines, nodes by version
package machinestate
