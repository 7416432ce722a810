// Package hostedclusterresources reconciles the resources inside a hosted cluster: permissions, DNS, the proxies and
// tunnels of its nodes, and the tokens with which machines join. The steps are in live.go and emptying.go and call the packages
// of control-plane-operator/hostedcluster. status.go evaluates the conditions.
//
//	live                                                        package
//	  machines             that follow a change of the access mode   nodeaccess
//	  API server           the connection                            connection
//	  permissions          of this operator                          objects
//	  NodeClaims           nodes on demand                           autonode
//	  then, independent of each other:
//	    node access           addresses that nodes use                  nodeaccess
//	    client certificates   of nodes, for Machines only               certificaterequests
//	    serving certificates  of nodes, for Machines only               certificaterequests
//	    number of nodes                                                 dataplane
//	    connection to nodes   in both directions                        dataplane
//	    kubelets              certificates of all nodes                 dataplane
//	    watches               trigger reconciles                        connection
//	    CA rollout            before the next authorities sign          authorities
//	    pod network           flannel, if the release has it            objects
//	    nodes on demand       Karpenter's kinds and defaults            autonode
//	    additional pull secret  credentials of users                    objects
//	    image registry        whether it runs                          imageregistry
//	    ingress               the Gateway API, and the load balancer     ingress
//	    one step for each set of objects                                objects
//
//	emptying, when the HostedCluster is deleted with its cloud resources
//	  API server           the connection                            connection
//	  cloud resources      search                                    cloudcleanup
//	  permissions          including the ones to delete              objects
//	  admission policy     rejects new load balancers and volumes    cloudcleanup
//	  removal              and remaining objects                     cloudcleanup
//
// In between two comparisons, every Options.Interval, a reconcile reads only the pending certificate requests and the number of nodes.
// Condition ConfigOperatorReconciliationSucceeded reports missing resources.
package hostedclusterresources
