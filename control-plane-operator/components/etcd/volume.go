package etcd

import (
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

var defaultSize = resource.MustParse("8Gi")

// volumeSize is the size of each member's volume.
func volumeSize(hcp *hyperv1.HostedControlPlane) resource.Quantity {
	if v := volume(hcp); v.Size != nil {
		return *v.Size
	}
	return defaultSize
}

func volume(hcp *hyperv1.HostedControlPlane) hyperv1.PersistentVolumeEtcdStorageSpec {
	if m := hcp.Spec.Etcd.Managed; m != nil && m.Storage.PersistentVolume != nil {
		return *m.Storage.PersistentVolume
	}
	return hyperv1.PersistentVolumeEtcdStorageSpec{}
}

const (
	mib = 1 << 20
	// maxQuota is the most that the authors of etcd advise.
	maxQuota = 8 << 10 * mib
	// logSize is that of etcd's log: five files that it keeps, the one that it
	// writes and the one that it has ready, of 64 MB each.
	logSize = 7 * 64_000_000
)

// quota is how large the database may become, in whole MiB: a database that is
// full can be cleaned up, a volume that is full cannot. Besides it the volume
// holds the log, what the file system takes for itself, 3 % of it, and the
// database a second time: a member that has fallen behind receives that of the
// leader while it still has its own, and to defragment is to write it anew.
//
//	8Gi: 8192 MiB = 246 file system + 427 log + 2 × 3759, of which one is 46 %
//
// One of less than 790 MB has no room for all of that, and is for clusters that
// nobody will miss: they get a fifth.
func quota(size resource.Quantity) int64 {
	bytes := size.Value()
	fits := (bytes/100*97 - logSize) / 2
	return min(max(fits, bytes/5), maxQuota) / mib * mib
}

// unpackerSize is room for the program that is beside a snapshot, twice while it is copied.
const unpackerSize = 128 * mib

// largestSnapshot is how large a snapshot may be that the volume can be restored
// from. etcd takes no more writes at its quota, which it notices a little late: a
// snapshot of a database that is full is larger, and can be restored on a volume
// of the same size.
func largestSnapshot(size resource.Quantity) int64 { return quota(size) / 100 * 105 }
