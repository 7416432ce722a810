package sharedrouter

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	toRouter := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: opts.Namespace, Name: sharedrouter.Public}}}
	})
	isRouter := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetNamespace() == opts.Namespace && obj.GetName() == sharedrouter.Public
	})
	return c.Builder(mgr).
		For(&corev1.Service{}, builder.WithPredicates(isRouter)).
		Watches(&hyperv1.HostedCluster{}, toRouter, builder.WithPredicates(ofRouter)).
		Watches(&hyperv1.AWSEndpointService{}, toRouter, builder.WithPredicates(connectionChanged)).
		Watches(&corev1.Service{}, toRouter, builder.WithPredicates(addressChanged)).
		Watches(&corev1.Namespace{}, toRouter, builder.WithPredicates(ownerChanged)).
		Complete(c)
}

// ofRouter passes changes of clusters that the router serves, or did. One that leaves it is served for a while without its annotation.
var ofRouter = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return wanted(e.Object) },
	DeleteFunc: func(e event.DeleteEvent) bool { return wanted(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || wanted(e.ObjectOld) != wanted(e.ObjectNew) ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

func wanted(obj client.Object) bool { return sharedrouter.Wanted(obj.(*hyperv1.HostedCluster)) }

// ownerChanged passes namespaces of control planes that get another HostedCluster.
var ownerChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetLabels()[hyperv1.HostedClusterUIDLabel] != e.ObjectNew.GetLabels()[hyperv1.HostedClusterUIDLabel]
	},
}

// addressChanged passes Services of control planes that come and go, or get another address.
var addressChanged = predicate.And(
	predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetLabels()[hyperv1.SharedRouterTargetLabel] != "" }),
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Service), e.ObjectNew.(*corev1.Service)
		return before.Spec.ClusterIP != after.Spec.ClusterIP || !reflect.DeepEqual(before.Spec.Ports, after.Spec.Ports)
	}},
)

// connectionChanged passes AWSEndpointServices of the router that come and go, and changes of their endpoints.
var connectionChanged = predicate.And(
	predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == sharedrouter.EndpointService }),
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*hyperv1.AWSEndpointService), e.ObjectNew.(*hyperv1.AWSEndpointService)
		return !reflect.DeepEqual([]any{before.Status.EndpointID, before.DeletionTimestamp.IsZero()}, []any{after.Status.EndpointID, after.DeletionTimestamp.IsZero()})
	}},
)
