// Package bootstrap is a bootstrap provider of Cluster API: it creates the user data of each machine.
//
//	Reconcile   one NodeBootstrap, in one of these states:
//
//	  joining   Machine              that owns it                                                  machine.go
//	            API server address   with the certificate authorities ►                            server.go
//	            node configuration   as the NodePool controller has stored it ►                    inputs.go
//	            bootstrap token      one for each machine; renewed after half its life             token.go
//	            user data            Secret user-data-<machine>; condition DataSecretCreated       userdata.go
//
//	  joined    removal of the secrets: the token is deleted, the user data emptied                userdata.go
//	  deleting  bootstrap tokens     deleted; the garbage collector deletes the rest               token.go
//	  deleted   objects that the garbage collector has not deleted yet                             token.go
//
// Machines do not share tokens. A token lives for 30 minutes and is replaced after half of that; an instance that was started with
// the former token can join during the other half. Each token is a Secret in the format of the hosted cluster. The
// control-plane-operator copies these Secrets as they are: a token is valid while its Secret exists here.
//
// User data is made from the HostedControlPlane and from objects in its namespace, which the operator of the tenant may change.
// It can only affect nodes of its own cluster this way. A machine reads user data once, at its start: no write here disturbs an
// existing node.
package bootstrap
