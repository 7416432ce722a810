package hostedcluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/infraid"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// ensureIdentifiers adds the finalizer and sets clusterID and infraID once, if the user did
// not. Both follow from the UID, so that a repetition sets the same values.
func (r *Reconciler) ensureIdentifiers(ctx context.Context, s *scope) error {
	set := map[string]string{}
	if s.hc.Spec.ClusterID == "" {
		set["clusterID"] = string(s.hc.UID)
	}
	if s.hc.Spec.InfraID == "" {
		set["infraID"] = infraid.For(s.hc, r.oidc)
	}
	claimed := s.hc.DeepCopy()
	if !controllerutil.AddFinalizer(claimed, hyperv1.HostedClusterFinalizer) && len(set) == 0 {
		return nil
	}
	patch := mergepatch.Metadata(map[string]any{"resourceVersion": s.hc.ResourceVersion, "finalizers": claimed.Finalizers})
	patch["spec"] = set
	if err := r.Client.Patch(ctx, claimed, patch); err != nil {
		return fmt.Errorf("setting finalizer, clusterID and infraID: %w", err)
	}
	s.hc.Finalizers = claimed.Finalizers
	s.hc.Spec.ClusterID, s.hc.Spec.InfraID = claimed.Spec.ClusterID, claimed.Spec.InfraID
	s.hc.ResourceVersion, s.hc.Generation = claimed.ResourceVersion, claimed.Generation
	return nil
}
