// Package etcd defines the member addresses of a hosted cluster's etcd, and connects to the members.
//
//	etcd-member    member/    before a member starts: join, restore or begin a cluster
//	etcd-restore   restore/   before the first start, or a restore in place: download the snapshot to start from
//	etcd-snapshot  snapshot/  on demand: write a snapshot to keep
//
// A member is a pod of the StatefulSet etcd, with the pod's name.
package etcd
