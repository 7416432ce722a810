package etcd

import (
	"fmt"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/etcdvolume"
)

// unpackerSize is room for the program next to a snapshot, and for a second copy while it is written.
const unpackerSize = 128 << 20

// Volumes describes the volumes of the members.
func Volumes(hcp *hyperv1.HostedControlPlane) string {
	size := etcdvolume.Size(&hcp.Spec.Etcd)
	return fmt.Sprintf("%d volumes of etcd with %s each", etcd.Of(hcp).Size, size.String())
}
