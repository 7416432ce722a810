// Package hostedclusterresources keeps what a hosted cluster needs inside: permissions, DNS, the
// proxies and tunnels of its nodes, the tokens with which machines join.
//
//	living                                              its HostedCluster is deleted, and wants to be cleaned up
//	  API server    the way in ►                door.go    API server
//	  permissions   who may do what there  permissions.go  permissions   those to delete, too
//	  then, whatever becomes of the others:               admission     nobody makes load balancers or volumes ►
//	    client certificates of nodes        clientcerts.go cloud resources  deleted; CloudResourcesDestroyed names
//	    serving certificates of nodes      servingcerts.go                 what is left                  cleanup.go
//	      both for Machines only           csrapprover.go
//	    nodes        how many                    nodes.go
//	    kubelets     does each serve with a certificate?
//	                                          kubelets.go
//	    connection   are they reached?      connection.go
//	    watches      what wakes us                ears.go
//	    followers    nodes have the next authorities, before these sign
//	                                         followers.go
//	    contents     parts of objects:        contents.go
//	      api-endpoints, cluster-info        endpoints.go
//	      node-authorities                 authorities.go
//	      bootstrap-tokens                      tokens.go
//	      pull-secret                           images.go
//	      coredns, kube-proxy, konnectivity-agent
//
// The payload decides which of the last ones there are: one without an image is
// none. They follow the control plane to a new release, and never go before it.
//
// We enter with an identity of our own, which may do what is needed here and can
// give nobody a permission, itself included. Permissions are set up by somebody
// whose certificate is signed in memory and ends after ten minutes.
//
// Nothing of the hosted cluster is cached. A part is looked at when its wish has
// changed and else every Options.Interval; in between a pass asks for pending
// certificate requests and for the number of nodes, and that is all. Condition
// ConfigOperatorReconciliationSucceeded says what is missing.
package hostedclusterresources
