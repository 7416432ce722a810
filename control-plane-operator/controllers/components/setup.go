package components

import (
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/neighbours"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	opts.Status.Finalizer(hyperv1.ControlPlaneComponentsFinalizer, func(hcp *hyperv1.HostedControlPlane) bool { return hcp.Unreadable() == "" })
	all := neighbours.Handler(opts.Client)
	generationChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, inputsChanged()))).
		Owns(&hyperv1.ControlPlaneComponent{}, generationChanged).
		Owns(&corev1.Service{}). // its load balancer is news, and changes no generation
		Owns(&policyv1.PodDisruptionBudget{}, generationChanged).
		Owns(&networkingv1.NetworkPolicy{}, generationChanged).
		Owns(&appsv1.Deployment{}).
		Watches(&appsv1.Deployment{}, all, builder.WithPredicates(appears(names.ClusterAPI))).
		Owns(&appsv1.StatefulSet{}).
		// Pods also mount Secrets and ConfigMaps of users, and Routes and Pods have other owners.
		Watches(&corev1.Secret{}, all).
		Watches(&corev1.ConfigMap{}, all).
		Watches(&corev1.Pod{}, all).
		Watches(&routev1.Route{}, all).
		Watches(&certificatesv1alpha1.CertificateRevocationRequest{}, all).
		Complete(c)
}

// appears passes the creation and the deletion of objects with a name.
func appears(name string) predicate.Predicate {
	named := func(obj client.Object) bool { return obj.GetName() == name }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return named(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return named(e.Object) },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// inputsChanged passes changes of fields that other controllers write and this controller reads.
func inputsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*hyperv1.HostedControlPlane), e.ObjectNew.(*hyperv1.HostedControlPlane)
		turned := func(condition string) bool {
			return meta.IsStatusConditionTrue(before.Status.Conditions, condition) != meta.IsStatusConditionTrue(after.Status.Conditions, condition)
		}
		return !slices.Equal(before.Finalizers, after.Finalizers) ||
			before.Status.ControlPlaneEndpoint != after.Status.ControlPlaneEndpoint ||
			!equality.Semantic.DeepEqual(before.Status.Initialization, after.Status.Initialization) ||
			!equality.Semantic.DeepEqual(before.Status.SecretEncryptionRecord, after.Status.SecretEncryptionRecord) ||
			turned(hyperv1.ConfigOperatorReconciliationSucceeded) || turned(hyperv1.EtcdAvailable) || turned(hyperv1.KubeletServingCertificatesSigned) ||
			ptr.Deref(before.Status.NodeCount, 0) > 0 != (ptr.Deref(after.Status.NodeCount, 0) > 0)
	}}
}
