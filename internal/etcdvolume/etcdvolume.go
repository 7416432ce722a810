// Package etcdvolume computes the size of the volume of a member of etcd, and what fits on it.
package etcdvolume

import (
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

var defaultSize = resource.MustParse("8Gi")

// Size is the size of each member's volume.
func Size(etcd *hyperv1.EtcdSpec) resource.Quantity {
	if v := Settings(etcd); v.Size != nil {
		return *v.Size
	}
	return defaultSize
}

// Settings are those of the volumes, empty without any.
func Settings(etcd *hyperv1.EtcdSpec) hyperv1.PersistentVolumeEtcdStorageSpec {
	if m := etcd.Managed; m != nil && m.Storage.PersistentVolume != nil {
		return *m.Storage.PersistentVolume
	}
	return hyperv1.PersistentVolumeEtcdStorageSpec{}
}

const (
	mib = 1 << 20
	// maxQuota is the largest value that etcd's documentation recommends.
	maxQuota = 8 << 10 * mib
	// logSize is the size of etcd's log, in files of 64 MB: five kept, one written and one prepared.
	logSize = 7 * 64_000_000
)

// Quota returns the largest size of the database in whole MiB. A full database can be compacted, but a full volume
// cannot be repaired. The volume also holds the log, the overhead of the file system, which is 3 %, and a second copy of
// the database: a member that lags receives the leader's copy while it still has its own, and a
// defragmentation writes a new file.
//
//	8Gi: 8192 MiB = 246 file system + 427 log + 2 × 3759, of which one is 46 %
//
// A volume of less than 790 MB has no room for all of that. It is for test clusters, and its quota is a fifth of it.
func Quota(size resource.Quantity) int64 {
	bytes := size.Value()
	fits := (bytes/100*97 - logSize) / 2
	return min(max(fits, bytes/5), maxQuota) / mib * mib
}

// LargestSnapshot returns the largest size of a snapshot that can be restored on the volume. etcd stops accepting writes
// at its quota, but with a short delay. So the snapshot of a full database is larger than the quota, and must fit on a
// volume of the same size.
func LargestSnapshot(size resource.Quantity) int64 { return Quota(size) / 100 * 105 }
