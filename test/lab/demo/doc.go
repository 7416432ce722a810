// Command lab is `make demo`: hosted clusters on real machines, all on this host, with a line for each event.
//
//	main.go     order of the phases, and the summary
//	phases.go   install, create two clusters, use one, upgrade the other, delete both
//	workers.go  machines join the first cluster
//	watch.go    events from conditions and pods of the control planes
//
// The exit code is 1, with the reason, if a phase fails or if anything is left at the end.
package main
