package hostedcontrolplane

import (
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	// Of the control plane itself only what others write is news.
	spec := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, othersSaid())
	return ctrl.NewControllerManagedBy(mgr).Named("hostedcontrolplane").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(spec)).
		Owns(&corev1.Service{}).
		Owns(&routev1.Route{}).
		Owns(&hyperv1.AWSEndpointService{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, time.Minute)}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
}

// othersSaid lets through what others say of the control plane.
func othersSaid() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*hyperv1.HostedControlPlane).Status.Conditions, e.ObjectNew.(*hyperv1.HostedControlPlane).Status.Conditions
		return slices.ContainsFunc(others, func(condition string) bool {
			return !equality.Semantic.DeepEqual(meta.FindStatusCondition(before, condition), meta.FindStatusCondition(after, condition))
		})
	}}
}
