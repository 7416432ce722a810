package hostedcluster

import (
	"context"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkSupport blocks clusters that this installation cannot run.
func (r *Reconciler) checkSupport(_ context.Context, s *scope) error {
	if s.aws() != nil && r.missing != "" {
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"the management cluster does not have %s: apply the files of config/crd/external, and restart the hypershift-operator", r.missing)
	}
	if !s.hc.Spec.Platform.PrivateLink() {
		return nil
	}
	switch region := s.aws().Region; r.PrivateRegion {
	case region:
		return nil
	case "":
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"endpointAccess %s needs an installation that can make endpoint services: start the hypershift-operator with --private-platform=AWS and credentials for AWS, or use endpointAccess Public", s.aws().EndpointAccess)
	default:
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"endpointAccess %s needs the cluster to be in region %s, where this installation makes endpoint services, and it is in %s: create the cluster there, or use endpointAccess Public", s.aws().EndpointAccess, r.PrivateRegion, region)
	}
}
