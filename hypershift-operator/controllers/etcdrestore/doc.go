// Package etcdrestore carries out EtcdRestores: a hosted cluster goes back to a backup of its etcd, or begins with one.
//
//	HostedCluster ─► other restores ─► object ─► request ─► control plane ─► removal
//	                                                │             │
//	Secret etcd-restore with a presigned URL, ──────┘             the HostedControlPlane has the restore's UID in status.etcdRestore,
//	which the members of etcd read                                and is available
//
// Nothing of the cluster is changed before the object was found. After the request, package hostedcluster stops the control plane as for a
// sleep, the control-plane-operator records the UID when no pod is left, and the control plane starts again. The URL is signed again and
// again until then. The restore of a cluster that has never been up needs no stop: its members wait for the Secret.
package etcdrestore
