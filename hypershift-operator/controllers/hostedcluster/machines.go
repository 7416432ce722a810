package hostedcluster

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterrelease"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/capiprovider"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureCluster presents the cluster to Cluster API. The objects are created with the first node pool. After the last one they stay, but
// a user may delete them.
func (r *Reconciler) ensureCluster(ctx context.Context, s *scope) (err error) {
	var remaining []string
	switch {
	case s.aws() == nil:
		return nil
	case !s.workers && s.cluster == nil:
		_, err = r.capi.Release(ctx, s.machinesCluster()) // no machine needs what remains
	default:
		s.cluster, remaining, err = r.capi.Ensure(ctx, s.machinesCluster())
	}
	if err != nil {
		return err
	}
	if len(remaining) > 0 {
		return reconcile.Wait(clusterInterval, hyperv1.DeletingReason, "a user has deleted %s: it is created again when no machine is left, so delete the node pools", strings.Join(remaining, " and "))
	}
	return nil
}

// clusterInterval is the interval of checks whether the last machine is gone, which
// is not watched.
const clusterInterval = 30 * time.Second

// ensureWorkers runs Cluster API and its AWS provider while the cluster has node
// pools. A node pool exists until its machines are deleted, unless a user has
// removed its finalizer.
func (r *Reconciler) ensureWorkers(ctx context.Context, s *scope) error {
	if !s.workers || s.aws() == nil {
		return r.capi.RemoveControllers(ctx, s.plane)
	}
	if s.namespace == nil || s.cluster == nil {
		// The cache does not have them yet. Cluster API expects the Cluster to own the objects
		// of the cluster; see clusterapi.Owner.
		return nil
	}
	core, err := r.releases.ComponentImage(ctx, s.releaseCluster(), &s.releases, clusterrelease.Component{
		Names: []string{names.ClusterAPI, "cluster-capi-controllers"}, Chosen: r.ClusterAPIImage, Flag: "cluster-api-image",
	})
	if err != nil {
		return err
	}
	provider, err := r.releases.ComponentImage(ctx, s.releaseCluster(), &s.releases, clusterrelease.Component{
		Names: []string{capiprovider.Image, "aws-cluster-api-controllers"}, Chosen: r.CAPIProviderImage, Flag: "capi-provider-aws-image",
	})
	if err != nil {
		return err
	}
	operator, err := r.operatorImage(s)
	if err != nil {
		return err
	}
	// The user may have chosen a control-plane-operator of another version, which may lack a sidecar.
	sidecars := cmp.Or(r.ControlPlaneOperatorImage, operator)
	images := map[string]string{names.ClusterAPI: core, capiprovider.Image: provider, controlplane.OperatorImage: sidecars}
	if s.autoscales() {
		if images[names.ClusterAutoscaler], err = r.releases.OptionalImage(ctx, s.releaseCluster(), &s.releases, names.ClusterAutoscaler); err != nil {
			return err
		}
	}
	target := r.target(s, images)
	target.Stopped = s.hcp.Sleeps() && s.sleep.Phase == hyperv1.SleepPhaseAsleep && !s.deletesMachines()
	return r.capi.EnsureControllers(ctx, target, s.namespace.UID)
}

// autoscales reports whether the cluster needs the cluster autoscaler: a node pool has autoScaling, and the user has not
// disabled it.
func (s *scope) autoscales() bool {
	return s.aws() != nil && s.hc.Annotations[hyperv1.DisableClusterAutoscalerAnnotation] != "true" &&
		slices.ContainsFunc(s.pools, func(np hyperv1.NodePool) bool { return np.Spec.AutoScaling != nil && np.DeletionTimestamp.IsZero() })
}

// asksForNodes reports whether a NodePool has nodes when it is as desired.
func asksForNodes(np hyperv1.NodePool) bool {
	if !np.DeletionTimestamp.IsZero() {
		return false
	}
	if np.Spec.AutoScaling != nil {
		return ptr.Deref(np.Spec.AutoScaling.Min, 0) > 0
	}
	return ptr.Deref(np.Spec.Replicas, 0) > 0
}

// pauseMachines sets the pause of Cluster API.
func (r *Reconciler) pauseMachines(ctx context.Context, s *scope) error {
	if r.MissingCRDs != "" {
		return nil
	}
	return r.capi.Pause(ctx, s.machinesCluster())
}
