package awsprivatelink

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Setup starts both controllers with the manager. They run whatever the access
// mode is, so that a change of it finds them.
func Setup(mgr ctrl.Manager, opts Options) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("awsendpointservice").
		For(&hyperv1.AWSEndpointService{}, builder.WithPredicates(othersChanges())).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(toEndpointServices(opts.Client)), builder.WithPredicates(specOrDeletion())).
		WithOptions(controller.Options{MaxConcurrentReconciles: len(offered), RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, 5*time.Minute)}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("endpointobserver").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(specOrDeletion())).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(toControlPlane(opts.Client)), builder.WithPredicates(isOffered())).
		Owns(&hyperv1.AWSEndpointService{}, builder.WithPredicates(specOrDeletion())).
		Complete(reconcile.AsReconciler(opts.Client, NewObserver(opts)))
}

// othersChanges lets through what others change. Our own writes of the status
// must not start a pass, or each pass would start another.
func othersChanges() predicate.Predicate {
	p := specOrDeletion()
	specChanged := p.UpdateFunc
	p.UpdateFunc = func(e event.UpdateEvent) bool {
		if specChanged(e) {
			return true
		}
		before, after := e.ObjectOld.(*hyperv1.AWSEndpointService).Status, e.ObjectNew.(*hyperv1.AWSEndpointService).Status
		return before.EndpointServiceName != after.EndpointServiceName || !slices.Equal(before.AvailabilityZoneIDs, after.AvailabilityZoneIDs)
	}
	return p
}

func specOrDeletion() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

func isOffered() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return slices.Contains(offered, obj.GetName()) })
}

func toEndpointServices(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, hcp client.Object) []ctrl.Request {
		list := &hyperv1.AWSEndpointServiceList{}
		if err := c.List(ctx, list, client.InNamespace(hcp.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing AWSEndpointServices")
			return nil
		}
		var out []ctrl.Request
		for i := range list.Items {
			out = append(out, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return out
	}
}

func toControlPlane(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, svc client.Object) []ctrl.Request {
		hcp, err := controlPlane(ctx, c, svc.GetNamespace())
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Finding the control plane of a Service")
		}
		if hcp == nil {
			return nil
		}
		return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(hcp)}}
	}
}
