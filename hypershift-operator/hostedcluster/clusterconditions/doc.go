// Package clusterconditions evaluates the conditions of a HostedCluster: pure functions
// of the facts of one reconcile.
//
//	Facts                    all inputs, and the conditions of single facts    facts.go
//	Available, Progressing   a summary of the others                           available.go
//	Ready, Stalled           the same for generic tools                        ready.go
//	Asleep                   what a sleeping cluster costs                     asleep.go
//	mirrored conditions      those of the HostedControlPlane                   mirrored.go
//	Healthy                  the statuses in a cluster in which all is well    healthy.go
//
// Facts that must survive a reconcile are status fields, never conditions: a condition
// is not computed from its own message or transition time.
package clusterconditions
