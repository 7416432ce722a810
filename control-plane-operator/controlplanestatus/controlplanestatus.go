// Package controlplanestatus makes the one writer of the status of a
// HostedControlPlane. All controllers of a process that report in that status share it.
package controlplanestatus

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Owner is the field owner of the whole status.
const Owner = names.ControlPlaneOperator + "-status"

// Store is the writer.
type Store = reconcile.Store[*hyperv1.HostedControlPlane]

// New returns the writer of one process. live reads past the cache. The writer itself
// derives Available and the version conditions from the fields that the controllers write.
func New(c client.Client, live client.Reader) *Store {
	s := reconcile.NewStore[*hyperv1.HostedControlPlane](c, live, Owner)
	s.Derive(derive, hyperv1.HostedControlPlaneAvailable, hyperv1.ClusterVersionReleaseAccepted, hyperv1.ClusterVersionProgressing,
		hyperv1.ClusterVersionSucceeding, hyperv1.ClusterVersionAvailable)
	return s
}

func derive(hcp *hyperv1.HostedControlPlane, conditions *reconcile.Conditions) {
	setAvailable(hcp, conditions)
	setVersion(hcp, conditions)
}
