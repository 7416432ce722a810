// Package namespace runs a program as the first process of new namespaces, and makes what is in them. It is how the lab is
// apart from the host, and how its machines are apart from each other:
//
//	outside                        inside, pid 1
//	Start ──────────────────────►  Await: nothing happens yet
//	  (veths, cgroups: what only
//	   the outside can give)
//	Open  ──────────────────────►  private mounts, Cover, MountProc, ...
//	                               Reap: starts the one program that this is about, and buries orphans
//
// When pid 1 ends, however it does, the kernel kills all others in the namespace, and mounts and links go with the last of
// them: nothing that is started here has to be stopped.
package namespace
