// Package namespace runs a program as the first process of new Linux namespaces, and prepares their mounts. It isolates the lab from
// the host, and the machines of the lab from each other:
//
//	outside                        inside, pid 1
//	Start ──────────────────────►  Await blocks
//	  (veths, cgroups: only
//	   the outside can set these up)
//	Open  ──────────────────────►  private mounts, Cover, MountProc, ...
//	                               Reap: starts the main program, and reaps orphans
//
// When pid 1 ends for any reason, the kernel kills all processes in the namespace, and removes mounts and links with the last of
// them. Therefore a process that starts here need not be stopped.
package namespace
