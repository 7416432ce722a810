package hostedcontrolplane

import (
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	// Our own writes of the status must not lead to a reconcile.
	spec := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, othersSaid())
	c := New(opts)
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(spec)).
		Owns(&corev1.Service{}).
		Owns(&routev1.Route{}).
		Owns(&hyperv1.AWSEndpointService{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(c)
}

// othersSaid passes changes of the conditions that other controllers write.
func othersSaid() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*hyperv1.HostedControlPlane).Status.Conditions, e.ObjectNew.(*hyperv1.HostedControlPlane).Status.Conditions
		return slices.ContainsFunc(others, func(condition string) bool {
			return !equality.Semantic.DeepEqual(meta.FindStatusCondition(before, condition), meta.FindStatusCondition(after, condition))
		})
	}}
}
