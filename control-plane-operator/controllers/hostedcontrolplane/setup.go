package hostedcontrolplane

import (
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	// Our own writes of the status must not lead to a reconcile.
	spec := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, initialized(), nodesFollow())
	c := New(opts)
	opts.Status.Finalizer(hyperv1.HostedClusterFinalizer, func(*hyperv1.HostedControlPlane) bool { return true })
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(spec)).
		Owns(&corev1.Service{}).
		Owns(&routev1.Route{}, builder.WithPredicates(notAdmitted())).
		Owns(&hyperv1.AWSEndpointService{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(c)
}

// notAdmitted drops updates that consist in the admission of a Route by our router. This controller wrote it, and a reconcile
// that the write triggers may still read the former status from the cache and write it again.
func notAdmitted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*routev1.Route).DeepCopy(), e.ObjectNew.(*routev1.Route).DeepCopy()
		if !slices.ContainsFunc(after.Status.Ingress, isOurs) {
			return true
		}
		for _, r := range []*routev1.Route{before, after} {
			r.Status, r.ResourceVersion, r.ManagedFields = routev1.RouteStatus{}, "", nil
		}
		return !equality.Semantic.DeepEqual(before, after)
	}}
}

// initialized passes that the API server has answered for the first time: the Service
// of a single API server then routes to ready pods only.
func initialized() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.(*hyperv1.HostedControlPlane).Status.Initialized != e.ObjectNew.(*hyperv1.HostedControlPlane).Status.Initialized
	}}
}

// nodesFollow passes changes of the paths that nodes use: a former one may be removed.
func nodesFollow() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.(*hyperv1.HostedControlPlane).Status.NodeAccess, e.ObjectNew.(*hyperv1.HostedControlPlane).Status.NodeAccess)
	}}
}
