package bootstrap

import (
	"context"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeserver"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// lookAgain is the retry interval for objects that are not watched.
const lookAgain = nodeserver.Interval

// resolveServer determines the address of the API server and the certificate authorities between it and the node.
func (r *Reconciler) resolveServer(ctx context.Context, s *scope) error {
	if s.hcp == nil {
		return reconcile.Wait(lookAgain, hyperv1.WaitingForAPIServerReason, "namespace %s has no control plane", s.nb.Namespace)
	}
	return nodeserver.Resolve(ctx, r.Reader, s.hcp, &s.node)
}
