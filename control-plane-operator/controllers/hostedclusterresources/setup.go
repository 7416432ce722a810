package hostedclusterresources

import (
	"reflect"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/neighbours"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	r := newReconciler(opts)
	c := r.controller()
	all := neighbours.Handler(opts.Client)
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(relevantChanges)).
		Watches(&corev1.Secret{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(isRelevantSecret))).
		Watches(&corev1.ConfigMap{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
			return slices.Contains([]string{certsecret.Bundles, names.KubeletClientCA, names.KubeletServingCA}, obj.GetName())
		}))).
		Watches(&routev1.Route{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Service{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
			return obj.GetName() == names.KonnectivityServer || obj.GetName() == names.KubeAPIServer // where it is published without a Route
		}))).
		WatchesRawSource(r.connections.Watches()).
		Complete(c)
}

// relevantChanges lets through the changes that the controller acts on.
var relevantChanges = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return !reflect.DeepEqual(relevant(e.ObjectOld.(*hyperv1.HostedControlPlane)), relevant(e.ObjectNew.(*hyperv1.HostedControlPlane)))
}}

func relevant(hcp *hyperv1.HostedControlPlane) any {
	return []any{
		hcp.Generation, hcp.Annotations, hcp.DeletionTimestamp.IsZero(), hcp.Status.ControlPlaneEndpoint, hcp.Status.KubeletVerification, objects.Arrived(hcp), hcp.ServedAccess(),
		meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable), secretencryption.Rewrites(hcp.Status.SecretEncryptionRecord), objects.ChecksTokens(hcp), hcp.Status.ImageRegistry,
	}
}

// isRelevantSecret reports whether a Secret is a credential for the hosted cluster, or copied into it.
func isRelevantSecret(obj client.Object) bool {
	return obj.GetLabels()[hyperv1.BootstrapTokenLabel] != "" ||
		slices.Contains([]string{certsecret.ControlPlaneOperator, names.ControlPlaneOperatorKubeconfig, names.KonnectivityAgentCertificate, names.MetricsServerCertificate, names.IngressCertificate, names.ImageRegistryCertificate, names.PodIdentityWebhookCertificate, names.PullSecret, names.AutoNode}, obj.GetName())
}
