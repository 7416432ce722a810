// Package objects reads a NodePool's objects in the control plane namespace, pauses them, and deletes those that are no longer used.
//
//	pool.go    the objects, and how they refer to each other
//	pause.go   pauses Cluster API and the cluster autoscaler
//	prune.go   templates that no MachineSet creates machines from
//	lost.go    objects of a NodePool that no longer exists
package objects
