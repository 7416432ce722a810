package etcd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
)

var defaultSize = resource.MustParse("8Gi")

// volumeSize is the size of each member's volume.
func volumeSize(hcp *hyperv1.HostedControlPlane) resource.Quantity {
	if v := volume(hcp); v.Size != nil {
		return *v.Size
	}
	return defaultSize
}

// Volumes describes the volumes of the members.
func Volumes(hcp *hyperv1.HostedControlPlane) string {
	size := volumeSize(hcp)
	return fmt.Sprintf("%d volumes of etcd with %s each", etcd.Of(hcp).Size, size.String())
}

func volume(hcp *hyperv1.HostedControlPlane) hyperv1.PersistentVolumeEtcdStorageSpec {
	if m := hcp.Spec.Etcd.Managed; m != nil && m.Storage.PersistentVolume != nil {
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

// quota returns the largest size of the database in whole MiB. A full database can be compacted, but a full volume
// cannot be repaired. The volume also holds the log, the overhead of the file system, which is 3 %, and a second copy of
// the database: a member that lags receives the leader's copy while it still has its own, and a
// defragmentation writes a new file.
//
//	8Gi: 8192 MiB = 246 file system + 427 log + 2 × 3759, of which one is 46 %
//
// A volume of less than 790 MB has no room for all of that. It is for test clusters, and its quota is a fifth of it.
func quota(size resource.Quantity) int64 {
	bytes := size.Value()
	fits := (bytes/100*97 - logSize) / 2
	return min(max(fits, bytes/5), maxQuota) / mib * mib
}

// unpackerSize is room for the program next to a snapshot, and for a second copy while it is written.
const unpackerSize = 128 * mib

// largestSnapshot returns the largest size of a snapshot that can be restored on the volume. etcd stops accepting writes
// at its quota, but with a short delay. So the snapshot of a full database is larger than the quota, and must fit on a
// volume of the same size.
func largestSnapshot(size resource.Quantity) int64 { return quota(size) / 100 * 105 }
