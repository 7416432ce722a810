package nodepool

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
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
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/requirements"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/discovery"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const workers = 10

// Setup starts the controller with the manager. Package index must have registered its
// indexes.
func Setup(mgr ctrl.Manager, o Options) error {
	r := newReconciler(o)
	c := r.controller()
	b := c.Builder(mgr).
		For(&hyperv1.NodePool{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&hyperv1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(clusterChanged)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane)).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), builder.WithPredicates(controlPlaneChanged)).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), builder.WithPredicates(autoscalerChanged)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(ofAnnotation)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), builder.WithPredicates(onNodes(names.SSHKey))).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), builder.WithPredicates(onNodes(names.UserCABundle)))
	if r.missing = discovery.MissingKinds(mgr.GetRESTMapper(), mgr.GetScheme(), objects.Kinds()...); r.missing == "" {
		b = b.Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), builder.WithPredicates(comesOrGoes))
		for _, kind := range objects.Kinds() {
			b = b.Watches(kind, handler.EnqueueRequestsFromMapFunc(ofAnnotation))
		}
	}
	return b.Complete(c)
}

// onNodes passes changes of the source of a copy that all nodes of a cluster have.
func onNodes(name string) predicate.Predicate {
	named := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == name })
	return predicate.And(named, predicate.AnnotationChangedPredicate{})
}

// autoscalerChanged passes the creation and deletion of the cluster autoscaler, and changes of its availability.
var autoscalerChanged = predicate.And(
	predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == names.ClusterAutoscaler }),
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return isAvailable(e.ObjectOld.(*appsv1.Deployment)) != isAvailable(e.ObjectNew.(*appsv1.Deployment))
	}},
)

// isAvailable reports whether a pod of the Deployment is available.
func isAvailable(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
	})
}

// comesOrGoes passes creation and deletion: a Cluster that is being deleted owns no objects.
var comesOrGoes = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}}

// clusterChanged passes changes that a pool depends on. The rest of a cluster's status
// changes often, and would lead to a reconcile of all of its pools each time.
var clusterChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	previous, current := e.ObjectOld.(*hyperv1.HostedCluster), e.ObjectNew.(*hyperv1.HostedCluster)
	return previous.Generation != current.Generation || !maps.Equal(actedUpon(previous.Annotations), actedUpon(current.Annotations)) ||
		!reflect.DeepEqual(previous.Status.Platform, current.Status.Platform) || requirements.ControlPlaneImage(previous) != requirements.ControlPlaneImage(current)
}}

// actedUpon returns the annotations of a HostedCluster that have an effect. Other clients write their own.
func actedUpon(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range hyperv1.AnnotationsOfHostedClusters() {
		if value, ok := annotations[key]; ok {
			out[key] = value
		}
	}
	return out
}

// controlPlaneChanged passes changes of the spec, of the phase of its sleep, and of the reported causes for machines that do not join.
var controlPlaneChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	previous, current := e.ObjectOld.(*hyperv1.HostedControlPlane), e.ObjectNew.(*hyperv1.HostedControlPlane)
	return previous.Generation != current.Generation || previous.SleepPhase() != current.SleepPhase() ||
		!reflect.DeepEqual(previous.Status.MachinesWithoutNode, current.Status.MachinesWithoutNode)
}}

// ofAnnotation maps an object that was created for a pool to the pool.
func ofAnnotation(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[hyperv1.NodePoolAnnotation], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func (r *Reconciler) ofCluster(ctx context.Context, hc client.Object) []reconcile.Request {
	return r.pools(ctx, hc.GetNamespace(), hc.GetName())
}

// ofControlPlane maps a HostedControlPlane and its namespace to the pools that depend on them.
func (r *Reconciler) ofControlPlane(ctx context.Context, obj client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[hyperv1.HostedClusterAnnotation], "/")
	if !ok {
		return nil
	}
	return r.pools(ctx, namespace, name)
}

func (r *Reconciler) pools(ctx context.Context, namespace, cluster string) []reconcile.Request {
	list := &hyperv1.NodePoolList{}
	// Only names are read: a copy of each object would be garbage at once.
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{index.NodePoolCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the node pools of a cluster", "hostedCluster", namespace+"/"+cluster)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
