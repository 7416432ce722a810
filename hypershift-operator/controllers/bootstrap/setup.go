package bootstrap

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const workers = 10

// Sets are the groups of Secrets that a cache has to keep for this controller.
func Sets() []string { return []string{setTokens, setUserData} }

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	r := newReconciler(o)
	c := r.controller()
	return c.Builder(mgr).
		For(&hyperv1.NodeBootstrap{}, builder.WithPredicates(changed(func(nb *hyperv1.NodeBootstrap) any {
			_, paused := nb.Annotations[clusterv1.PausedAnnotation]
			return []any{nb.Generation, nb.OwnerReferences, nb.DeletionTimestamp.IsZero(), paused, nb.Unreadable()}
		}))).
		Owns(&corev1.Secret{}, builder.WithPredicates(predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }})).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(ofMachine), builder.WithPredicates(changed(func(m *clusterv1.Machine) any {
			return []any{m.Labels, m.Spec.Taints, m.Status.NodeRef.IsDefined(), m.DeletionTimestamp.IsZero()}
		}))).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), builder.WithPredicates(changed(func(hcp *hyperv1.HostedControlPlane) any {
			return []any{hcp.Generation, hcp.Status.ControlPlaneEndpoint, hcp.Status.Initialized}
		}))).
		Complete(c)
}

// changed passes updates of the part that a reconcile depends on.
func changed[T client.Object](part func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !reflect.DeepEqual(part(e.ObjectOld.(T)), part(e.ObjectNew.(T)))
	}}
}

func ofMachine(_ context.Context, obj client.Object) []reconcile.Request {
	ref := obj.(*clusterv1.Machine).Spec.Bootstrap.ConfigRef
	if ref.Kind != "NodeBootstrap" || ref.APIGroup != hyperv1.GroupVersion.Group {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}}}
}

// ofControlPlane leads to all machines of a cluster.
func (r *Reconciler) ofControlPlane(ctx context.Context, hcp client.Object) []reconcile.Request {
	var list hyperv1.NodeBootstrapList
	if err := r.Client.List(ctx, &list, client.InNamespace(hcp.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing NodeBootstraps to wake up")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
