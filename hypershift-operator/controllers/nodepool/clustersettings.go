package nodepool

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clustersettings"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resolveClusterWide gathers the cluster-wide node settings: proxy, trust bundle, SSH keys and networks.
func (r *Reconciler) resolveClusterWide(ctx context.Context, s *scope) error {
	hcp := &hyperv1.HostedControlPlane{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.hc.Name}, hcp)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for the control plane of HostedCluster %s: see its conditions", s.hc.Name)
	}
	if err != nil {
		return fmt.Errorf("getting HostedControlPlane %s: %w", s.hc.Name, err)
	}
	settings, err := clustersettings.Gather(ctx, r.Client, hcp)
	if err != nil {
		return err
	}
	s.inputs.Cluster = settings
	return nil
}
