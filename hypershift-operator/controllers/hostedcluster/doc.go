// Package hostedcluster turns a HostedCluster into a control plane namespace
// with everything in it that a control plane starts from, tells the user how
// things are, and takes it all away again.
//
//	live    configuration              what cannot work, and how to change it      configuration.go
//	        ► support                  what this installation cannot do            platform.go
//	        ► finalizer, identifiers ► namespace ►                                 identifiers.go, namespace.go
//	          limits of the namespace    ResourceQuota and LimitRange              limits.go
//	          pull secret                                                          pullsecret.go
//	          control-plane-operator     Deployment and its permissions            operator.go
//	          token issuer               signing key; OIDC documents in S3         issuer.go
//	          copies                     of what else the user brings              copies.go
//	          proxy, way to etcd         whether those of the user can be used     proxy.go, brought.go
//	          credentials                one Secret for each role                  credentials.go
//	          release image              a gate before the control plane           release.go
//	          HostedControlPlane         what the control-plane-operator reads     controlplane.go
//	          network policies           who may talk to whom                      networkpolicies.go
//	          Cluster API                its objects, and its pods if needed       cluster.go, workers.go
//	          what the user gets         kubeconfig, password                      kubeconfig.go
//
//	paused  control plane and machines are told; nothing else changes             pause.go
//
//	dying   what the control-plane-operator needs                                  keep.go
//	        ► node pools ► machines                                                delete.go, machines.go
//	        ► cloud resources of the hosted cluster                                cleanup.go
//	        ► endpoints ► HostedControlPlane ► Cluster API's objects ►
//	        OIDC documents ► namespace ► grace period ► infraID ► finalizer        delete.go, released.go
//
// A HostedCluster can be gone without all that: somebody took the finalizer
// away, or the deletion was quicker than it. Its namespace leads here then, too,
// and the same steps are taken for what the namespace and the HostedControlPlane
// remember of it (lost.go). The next one of the name waits for the namespace.
//
// What spec names of the user's Secrets and ConfigMaps is listed in one place
// (references.go), from which follow what is checked (contents.go), what is
// copied, what the HostedControlPlane calls it, and what is watched (watch.go).
// A copy has a name that cannot be one of ours, and stays when its source breaks.
//
// Everything starts at once: nothing here waits for a load balancer. Deletion
// is in the order in which things need each other, and what is asked to go is
// awaited: workers need the endpoint, the endpoint's deletion needs the
// control-plane-operator, its AWS identity needs the documents.
//
// The control-plane-operator's word counts while it runs (alive.go) and has seen
// the last change; otherwise a condition is Unknown, or about an earlier
// generation. Whatever nobody can delete any more is given up after a while and
// named (giveup.go): an identity that AWS refuses, a namespace that somebody
// deleted with the control-plane-operator in it, a bucket that this operator was
// started without. Unknown is no reason to give up.
//
// The user's objects are read and never written, but for clusterID and infraID,
// which are set once, and the finalizer.
package hostedcluster
