package aws

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// workers is how many objects are reconciled at once. A new service waits for two calls
// of AWS, and after a restart all of them are new.
const workers = 20

// Setup starts the controller with the manager. Package index must have registered its
// indexes.
func Setup(mgr ctrl.Manager, o Options) error {
	r := newReconciler(o)
	c := r.controller()
	return c.Builder(mgr).
		For(&hyperv1.AWSEndpointService{}, builder.WithPredicates(r.endpointServiceChanged())).
		Watches(&hyperv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(r.ofNodePool), builder.WithPredicates(nodePoolMoved())).
		Watches(&hyperv1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofHostedCluster), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.ofHostedControlPlane), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, connectionLost))).
		Complete(c)
}

// endpointServiceChanged passes changes by other writers: the spec, deletion, a
// finalizer that goes, a claim that is no longer the desired one, and that AWS does not let
// the endpoint connect. The rest of the status, which both operators write, contains no news; and the
// controller that is woken by its own writes starts from a copy that lacks the last of them.
func (r *Reconciler) endpointServiceChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		previous, current := e.ObjectOld.(*hyperv1.AWSEndpointService), e.ObjectNew.(*hyperv1.AWSEndpointService)
		switch {
		case !reflect.DeepEqual(othersPart(previous), othersPart(current)), lost(previous.Finalizers, current.Finalizers), endpointRefused(current) && !endpointRefused(previous):
			return true
		case claimOn(current).equal(claimOn(previous)):
			return false
		}
		return !r.claimIsCurrent(current)
	}}
}

// othersPart returns the fields that we act on and do not write.
func othersPart(es *hyperv1.AWSEndpointService) any {
	spec := es.Spec
	spec.SubnetIDs = nil
	return []any{spec, es.DeletionTimestamp.IsZero(), es.Unreadable()}
}

// lost reports whether an object is gone.
func lost(previous, current []string) bool {
	return slices.ContainsFunc(previous, func(s string) bool { return !slices.Contains(current, s) })
}

// claimIsCurrent reports whether a reconcile would leave the claim unchanged.
func (r *Reconciler) claimIsCurrent(es *hyperv1.AWSEndpointService) bool {
	ctx := context.Background() // answered by the cache
	owner, err := r.resolveOwner(ctx, es.Namespace)
	if err != nil || !owner.known() {
		return false
	}
	want, _, err := r.desiredClaim(ctx, es, owner.hc)
	return err == nil && want.equal(claimOn(es))
}

// nodePoolMoved passes changes of a NodePool's cluster or subnet.
func nodePoolMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		previous, current := e.ObjectOld.(*hyperv1.NodePool), e.ObjectNew.(*hyperv1.NodePool)
		return previous.Spec.ClusterName != current.Spec.ClusterName || !reflect.DeepEqual(subnetOf(previous), subnetOf(current)) || previous.Unreadable() != current.Unreadable()
	}}
}

func subnetOf(np *hyperv1.NodePool) *hyperv1.AWSResourceReference {
	if np.Spec.Platform.AWS == nil {
		return nil
	}
	return &np.Spec.Platform.AWS.Subnet
}

func (r *Reconciler) ofNodePool(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(names.ControlPlaneNamespace(obj.GetNamespace(), obj.(*hyperv1.NodePool).Spec.ClusterName)))
}

func (r *Reconciler) ofHostedCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(names.ControlPlaneNamespace(obj.GetNamespace(), obj.GetName())))
}

func (r *Reconciler) ofHostedControlPlane(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(obj.GetNamespace()))
}

// requests are for the AWSEndpointServices that the options select. A cache
// that cannot be listed is about to stop with the whole process.
func (r *Reconciler) requests(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var list hyperv1.AWSEndpointServiceList
	if err := r.Client.List(ctx, &list, opts...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing AWSEndpointServices to wake up")
		return nil
	}
	var requests []reconcile.Request
	for _, es := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: es.Namespace, Name: es.Name}})
	}
	return requests
}
