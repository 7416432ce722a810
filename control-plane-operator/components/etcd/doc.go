// Package etcd runs the etcd of a hosted cluster: one member, or three members of a highly available one, each with its
// own volume.
//
//	ConfigMap etcd-config ─► (member: join, restore or begin) ─► etcd
//	                                ▲
//	snapshot ─► fetch ─► restore ───┘   only until the cluster has been up once, and without data
//
// The snapshot is that of restoreSnapshotURL, or that of an EtcdRestore, whose ID is in status.etcdRestore of the HostedControlPlane. A
// restore in place begins while the control plane has no pods: etcd is then no longer formed, and data of before counts as none.
//
// A single member takes the whole configuration from the ConfigMap. It has no init container unless it restores a snapshot, because the
// start of the cluster waits for it. The ConfigMap also records that the cluster has been up, and members read it when they start. A change
// of the pod template would restart them.
//
//	formed: "false"  a member without data begins the cluster
//	formed: "true"   it joins the others, or reports that its data is lost
//
// A single member that is deleted serves for a few seconds before it stops, in which new connections are refused: see
// controllers/etcdconnections.
//
// A cluster with an unmanaged etcd has none of this. The hypershift-operator writes the network policies of etcd, with
// all other policies of the namespace.
package etcd
