package hostedcluster

import (
	"context"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/autonode"
)

// ensureAutoNode writes what nodes on demand are made from.
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
