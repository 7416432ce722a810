// Package deletion deletes the objects of a pool: the MachineDeployment and MachineHealthCheck, machines, templates.
//
//	delete.go         in this order, with waits
//	termination.go    skips the drain of nodes, and checks instances that are being terminated
package deletion
