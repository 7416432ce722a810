// Package hostedclusterresources reconciles the resources inside a hosted cluster: permissions, DNS, the proxies and
// tunnels of its nodes, and the tokens with which machines join.
//
//	living                                              HostedCluster deleted, with cleanup
//	  machines      that follow a change of the access mode
//	                                       nodeaccess.go
//	  API server    the connection ►     clustercache.go    API server
//	  permissions   of this operator        permissions.go  search        of cloud resources       cloudresources.go
//	  NodeClaims    nodes on demand            autonode.go
//	  then, independent of each other:                    permissions   including the ones to delete
//	    client certificates of nodes        clientcerts.go admission     rejects new load balancers and volumes
//	    serving certificates of nodes      servingcerts.go cloud resources  deleted; CloudResourcesDestroyed lists
//	      both for Machines only           csrapprover.go                  what is left                  cleanup.go
//	    node access  addresses that nodes use, and the path of the tunnels
//	                                          nodeaccess.go
//	    nodes        their number                nodes.go
//	    kubelets     certificates of all nodes
//	                                          kubelets.go
//	    connection   to the nodes           connection.go
//	    watches      trigger reconciles        watches.go
//	    CA rollout   nodes have the next authorities before these sign
//	                                        carollout.go
//	    pod network  flannel, if the release has it
//	                                     podnetwork.go
//	    nodes on demand   Karpenter's kinds, default EC2NodeClass and NodePool
//	                                           autonode.go
//	    contents     sets of objects:         contents.go
//	      api-endpoints, cluster-info        endpoints.go
//	      node-authorities                 authorities.go
//	      bootstrap-tokens                      tokens.go
//	      pull-secret                           images.go
//	      pod-identity-webhook            podidentity.go
//	      coredns, kube-proxy, konnectivity-agent,
//	      metrics-server, aws-ebs-csi-driver-node
//	                                        workloads.go, from package components
//
// The release payload decides which of the last parts exist: a part without an image is omitted. They follow the control
// plane to a new release, and are never newer.
//
// The operator has its own identity in the hosted cluster. It can do what is needed here, but cannot grant permissions.
// Permissions are set up with another certificate, which is signed in memory and valid for ten minutes.
//
// Nothing of the hosted cluster is cached. A part is read when its desired state has changed, and otherwise every
// Options.Interval. In between, a reconcile reads only the pending certificate requests and the number of nodes.
// Condition ConfigOperatorReconciliationSucceeded reports what is missing.
package hostedclusterresources
