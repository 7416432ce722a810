// Command lab is `make demo`: hosted clusters on real machines, all on this one, told as it happens.
//
//	main.go     the acts, and what is said at their end
//	acts.go     install, create two clusters, use one, upgrade the other, delete both
//	workers.go  machines join the first
//	watch.go    conditions and pods of the control planes become sentences
//
// The exit code is 1, with the reason, if anything is missing at the end of an act or left at the end of the story.
package main
