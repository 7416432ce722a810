// Command private is `make demo-private`: the life of a private cluster on this machine, with a line for each event.
//
//	environment.go  a management cluster (test/fixture), two AWS accounts (test/awsemulator), both operators as Deployments
//	phases.go     apply the samples, scale a pool, add one in a third zone, publish, delete; each checks its result
//	machines.go   stand-ins for the hosted API server and the kubelets; checks of nodes
//	snapshot.go   objects in Kubernetes and resources in both accounts at one moment
//	events.go     differences of two snapshots as events
//	tree.go       a snapshot as a tree
//
// The exit code is 1, with the reason, if a phase fails or if anything is left at the end.
package main
