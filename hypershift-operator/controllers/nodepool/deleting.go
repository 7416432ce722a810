package nodepool

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func (r *Reconciler) deleting() []reconcile.Step[*scope] {
	return append(r.removal(), reconcile.Step[*scope]{Name: "finalizer", Run: func(ctx context.Context, s *scope) error {
		return s.status.RemoveFinalizer(ctx, hyperv1.HostedClusterFinalizer)
	}})
}

// removal are the steps that delete the objects of a pool.
func (r *Reconciler) removal() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		r.endOfPause(),
		{Name: "drain", Run: func(ctx context.Context, s *scope) error { return r.deletion.SkipDrain(ctx, s.Pool) }},
		{Name: "MachineDeployment", Run: func(ctx context.Context, s *scope) error { return r.deletion.DeleteDeployment(ctx, s.Pool) }},
		{Name: "machines", Run: func(ctx context.Context, s *scope) error { return r.deletion.DeleteMachines(ctx, s.Pool) }},
		{Name: "templates", Run: func(ctx context.Context, s *scope) error { return r.deletion.DeleteTemplates(ctx, s.Pool) }},
	}
}

// deleteLost deletes the machines of a NodePool that no longer exists.
func (r *Reconciler) deleteLost(ctx context.Context, key client.ObjectKey) error {
	if r.missing != "" {
		return nil
	}
	pool, err := objects.Lost(ctx, r.Client, r.Reader, key, r.Clock.Now())
	if pool == nil || err != nil {
		return err
	}
	if md := pool.MachineDeployment; md != nil && md.DeletionTimestamp.IsZero() {
		ctrl.LoggerFrom(ctx).Info("The NodePool no longer exists: deleting its machines")
		r.Recorder.Eventf(pool.NodePool, nil, corev1.EventTypeWarning, "NodePoolLost", "Delete",
			"The NodePool was deleted without its finalizer; its machines in namespace %s are deleted now", pool.Namespace)
	}
	return reconcile.Run(ctx, &scope{Spec: machines.Spec{Pool: pool}}, r.removal()...).Err()
}
