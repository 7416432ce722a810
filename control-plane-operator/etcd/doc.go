// Package etcd knows where the members of a hosted cluster's etcd are, and
// talks to them.
//
//	etcd-member    member/    before a member starts: what it starts as
//	etcd-restore   restore/   before the first start: a snapshot to start from
//	etcd-snapshot  snapshot/  by hand: a snapshot to keep
//
// A member is a pod of StatefulSet etcd, and has the pod's name.
package etcd
