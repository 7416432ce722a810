package hostedcluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/autonode"
)

// autoNode returns how nodes on demand are created. After the user has removed it from the spec, the control plane keeps it until
// the control-plane-operator has deleted these nodes: Karpenter terminates their instances.
func (s *scope) autoNode() (spec *hyperv1.AutoNode, removed bool) {
	spec = s.hc.Spec.AutoNode
	if spec.Karpenter() != nil || s.hcp == nil || s.hcp.Spec.AutoNode.Karpenter() == nil {
		return spec, false
	}
	requested := s.hcp.Annotations[hyperv1.AutoNodeRemovedAnnotation] == "true"
	if requested && meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.AutoNodeEnabled) == nil {
		return spec, false
	}
	return s.hcp.Spec.AutoNode, true
}

// ensureAutoNode writes the Secret from which nodes on demand are made.
func (r *Reconciler) ensureAutoNode(ctx context.Context, s *scope) error {
	if s.aws() == nil || s.hc.Spec.AutoNode.Karpenter() == nil {
		return r.onDemand.Remove(ctx, s.plane)
	}
	if s.hcp == nil {
		return nil // its next event triggers a reconcile
	}
	rel, err := r.releases.Running(ctx, s.releaseCluster(), &s.releases)
	if err != nil {
		return err
	}
	return r.onDemand.Ensure(ctx, autonode.Cluster{Plane: s.plane, ControlPlane: s.hcp, Release: rel, Pools: s.pools})
}
