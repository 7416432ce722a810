// Package teardown deletes the control plane of a HostedCluster and everything that
// was created for it.
//
//	requirements of the control-plane-operator, which is kept running           retention.go
//	► handover to another management cluster, which leaves most of the rest     handover.go
//	► end of the sleep, if cloud resources or a last backup need it             wake.go
//	► last backup, which an EtcdBackupSchedule may make                         steps.go
//	► cloud resources whose controllers run on nodes                            cleanup.go
//	► node pools ► machines                                                     workers.go
//	► cloud resources of the hosted cluster, and later ones                     cleanup.go
//	► endpoints ► HostedControlPlane                                            steps.go
//	► Cluster API objects                                                       workers.go
//	► OIDC documents                                                            documents.go
//	► control-plane-operator ► namespace                                        steps.go
//	► grace period ► infraID                                                    steps.go
//	► finalizer
//
// The order follows dependencies: volumes and load balancers of the hosted cluster
// need controllers on its workers, workers need the endpoint, the deletion of the
// endpoint needs the control-plane-operator, and its AWS identity needs the OIDC
// documents.
//
// Resources that no controller can delete any more are orphaned after a period, and listed
// in the status: after AWS rejects the identity of the cluster, after a user deletes
// the namespace with the control-plane-operator in it, and when the operator runs
// without the bucket. The decision is a pure function of a Cluster and the time
// (cluster.go); orphaning.go acts on it. Unknown never leads to orphaning.
//
//	status.leftBehind   orphaned resources                          leftbehind.go
//	status.waits        since when a state lasts that ends a wait   waits.go
//
// A HostedCluster can disappear without these steps: a user removed the finalizer, or
// deleted it before it had one. Its namespace carries a record of the facts that the steps need, and
// the steps run with them (adoption.go). A new HostedCluster of the same name waits for the namespace.
package teardown
