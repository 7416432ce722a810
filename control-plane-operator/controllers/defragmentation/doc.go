// Package defragmentation limits the size of the databases of a hosted cluster's etcd. Deleted data leaves free pages in
// the file, and only a defragmentation returns them.
//
//	etcd databases      every ten minutes: read the status of each member
//	                    ├── one does not respond, or they have different leaders ──► skip
//	                    ├── one is fragmented ──► defragment it, followers first; requeue soon
//	                    └── the NOSPACE alarm is active, and there is space ──► disarm it
//
// A member does not serve while it is defragmented. So only one member is defragmented at a time, and the status of all
// members is read before each defragmentation. The operator does this, and not a sidecar of each member: a sidecar would
// use more memory than it saves.
package defragmentation
