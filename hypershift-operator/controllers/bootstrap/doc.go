// Package bootstrap is a bootstrap provider of Cluster API: it makes the user data of each machine.
//
//	Reconcile   one NodeBootstrap. What is about it? gone, dying, paused, joined, or then:
//
//	  joining   machine     which Machine owns it?                                            machine.go
//	            server      where is the API server, and whom to believe there? ►             server.go
//	            inputs      what do the pool and the cluster want on the node? ►              inputs.go
//	            token       one of its own: made, renewed at half-time, removed at its end    token.go
//	            user data   Secret user-data-<machine>; condition DataSecretCreated           userdata.go
//
//	  joined    no token any more, and user data in which there is nothing to steal           userdata.go
//	  dying     no token any more; the rest goes with its owner                               token.go
//	  gone      what the garbage collector has not taken yet goes now                         token.go
//
// Nobody shares a token. One lives for half an hour and is replaced after a quarter; an instance that was started with the
// one before has the rest of that to join. Each token is a Secret of its own, in the form in which the hosted cluster wants
// it, so that who takes it there has nothing to decide: what is here is valid, what is gone is not.
//
// What a node is told comes from the HostedControlPlane and from copies beside it. The tenant's operator may change these,
// for the nodes of its own cluster, which it could change anyway. A machine that has started never asks again, so that
// nothing here replaces or disturbs a node.
package bootstrap
