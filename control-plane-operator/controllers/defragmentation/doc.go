// Package defragmentation keeps the databases of a hosted cluster's etcd from
// growing. What is deleted in them leaves holes, which only a copy closes.
//
//	every ten minutes   how is each member?
//	                    ├── one does not answer, or they do not agree who leads ──► another time
//	                    ├── one of them has many holes ──► copy it, followers first; look again soon
//	                    └── the alarm about space is on, and there is space ──► turn it off
//
// A member that is copied does not answer, so there is never more than one, and
// all are looked at before each. That is done from here, and not beside each
// member: a program there would take more memory than it ever gives back.
package defragmentation
