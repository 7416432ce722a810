package awsprivatelink

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// Setup starts both controllers with the manager. They run in every access mode, so that
// a change of the mode needs no restart.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	err := c.Builder(mgr).
		For(&hyperv1.AWSEndpointService{}, builder.WithPredicates(othersChanges())).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(toEndpointServices(opts.Client)), builder.WithPredicates(predicate.Or[client.Object](specOrDeletion(), connectionLost(), accessServed()))).
		Complete(c)
	if err != nil {
		return err
	}
	observer := NewObserver(opts)
	return observer.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.Or[client.Object](specOrDeletion(), accessServed()))).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(toControlPlane(opts.Client)), builder.WithPredicates(isOffered())).
		Owns(&hyperv1.AWSEndpointService{}, builder.WithPredicates(specOrDeletion())).
		Complete(observer)
}

// othersChanges passes changes that others make. Our own writes of the status must not
// lead to a reconcile, or each reconcile would lead to another.
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

// accessServed passes changes of the access mode that is served, and of what else records depend on. A control plane that sleeps may serve no
// access mode.
func accessServed() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*hyperv1.HostedControlPlane), e.ObjectNew.(*hyperv1.HostedControlPlane)
		return before.Status.ServedEndpointAccess != after.Status.ServedEndpointAccess || before.ReplacedEndpointOwner() != after.ReplacedEndpointOwner() ||
			before.Annotations[hyperv1.PrivateRecordTTLAnnotation] != after.Annotations[hyperv1.PrivateRecordTTLAnnotation] ||
			target.DropsLoadBalancers(before) != target.DropsLoadBalancers(after) || sharedrouter.Of(before) != sharedrouter.Of(after)
	}}
}

func isOffered() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return slices.Contains(ownRouters, obj.GetName()) })
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
