package nodepool

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/patch"
)

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// Reconciler tells the user of a NodePool where it stands.
type Reconciler struct{ Options }

// New returns a Reconciler.
func New(o Options) *Reconciler { return &Reconciler{o} }

// Reconcile writes the conditions of one NodePool.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	np := &hyperv1.NodePool{}
	if err := r.Client.Get(ctx, req.NamespacedName, np); err != nil || !np.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	hc := &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.ClusterName}, hc)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil {
		hc = nil
	}
	now := r.Clock.Now()
	status := patch.New(r.Client, np, names.HypershiftOperator, ourStatus)
	np.Status.Conditions = conditions(np, hc, now)
	_, remaining := np.Spec.PausedUntil.Paused(now)
	return ctrl.Result{RequeueAfter: remaining}, status.Close(ctx)
}

func ourStatus(np *hyperv1.NodePool) any { return np.Status }

// SetupWithManager watches NodePools, and HostedClusters as they come and go.
// Package index must have registered its indexes.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nodepool").
		For(&hyperv1.NodePool{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(r.pools),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }})).
		WithOptions(options).
		Complete(r)
}

func (r *Reconciler) pools(ctx context.Context, hc client.Object) []reconcile.Request {
	list := &hyperv1.NodePoolList{}
	if err := r.Client.List(ctx, list, client.InNamespace(hc.GetNamespace()), client.MatchingFields{index.NodePoolCluster: hc.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the node pools of a cluster", "cluster", client.ObjectKeyFromObject(hc))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
