// Command private is `make demo-private`: the life of a private cluster on this machine, told as it happens.
//
//	stage.go      a management cluster (test/fixture), two AWS accounts (test/awsemulator), both operators as Deployments
//	story.go      the acts: apply the samples, scale a pool, add one in a third zone, open to the public, delete; each says what
//	              must be true at its end
//	machines.go   the hosted API server and the kubelets, which are stand-ins; what must be true of nodes
//	picture.go    what there is at one moment, in Kubernetes and in both accounts
//	narrate.go    two pictures become sentences
//	tree.go       one picture becomes a tree
//
// The exit code is 1, with the reason, if anything is missing at the end of an act or left at the end of the story.
package main
