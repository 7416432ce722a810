package nodepool

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/repair"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// scope contains the facts of one reconcile. gather fills the pool and its objects; steps fill the rest of the Spec.
type scope struct {
	machines.Spec
	// status writes the status and finalizers.
	status *reconcile.Writer[*hyperv1.NodePool]
	// paused is true during a pause, which ends after pauseLeft if that is not 0.
	paused    bool
	pauseLeft time.Duration
	// control is the release of the control plane, or nil if it is not known.
	control *release.Release
	// repair is the plan for machines that do not join.
	repair repair.Plan
}

// gather reads the objects of the pool.
func (r *Reconciler) gather(ctx context.Context, np *hyperv1.NodePool) (*scope, error) {
	pool := &objects.Pool{NodePool: np, Namespace: names.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName)}
	hc := &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.ClusterName}, hc)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting HostedCluster %s: %w", np.Spec.ClusterName, err)
	}
	if err == nil {
		pool.HostedCluster = hc
	}
	s := &scope{Spec: machines.Spec{Pool: pool}}
	s.paused, s.pauseLeft = np.Spec.PausedUntil.Paused(r.Clock.Now())
	if r.missing != "" {
		return s, nil
	}
	return s, pool.Read(ctx, r.Client)
}
