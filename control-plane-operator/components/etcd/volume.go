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

// quota is how large the database may become, in whole MiB. The log, which has
// up to seven files of 64 MB, and the file system want the rest: a database that
// is full can be cleaned up, a volume that is full cannot.
func quota(size resource.Quantity) int64 {
	const mib = 1 << 20
	return size.Value() / mib * 8 / 10 * mib
}
