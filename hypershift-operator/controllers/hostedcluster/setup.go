package hostedcluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/discovery"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/oidc"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/userobjects"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// byInfraID knows an infraID before it is set: a cluster without one gets the one that
// its issuer's URL ends in.
func byInfraID(obj client.Object) []string {
	hc := obj.(*hyperv1.HostedCluster)
	id := cmp.Or(hc.Spec.InfraID, oidc.ParseIssuer(hc.Spec.IssuerURL).Prefix)
	if id == "" {
		return nil
	}
	return []string{id}
}

func byControlPlane(obj client.Object) []string {
	return []string{names.ControlPlaneNamespace(obj.GetNamespace(), obj.GetName())}
}

// byHostname has every host name once, as DNS compares them.
func byHostname(obj client.Object) []string {
	var hosts []string
	for _, svc := range obj.(*hyperv1.HostedCluster).Spec.Services {
		if host := strings.ToLower(svc.ServicePublishingStrategy.Hostname()); host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// byPublishedSecret has the names of the Secrets that the user gets.
func byPublishedSecret(obj client.Object) []string {
	hc := obj.(*hyperv1.HostedCluster)
	var secrets []string
	for _, h := range publishedSecrets {
		if h.wanted(hc) {
			secrets = append(secrets, hc.Namespace+"/"+hc.Name+h.suffix)
		}
	}
	return secrets
}

// indexes find the HostedClusters that want the same.
var indexes = map[string]client.IndexerFunc{infraIDIndex: byInfraID, controlPlaneIndex: byControlPlane, hostnameIndex: byHostname, publishedSecretIndex: byPublishedSecret}

const workers = 10

// sets are the groups of objects of kinds that others make too, in the namespace
// of a control plane and, for the user, in the namespace of the HostedCluster.
const (
	setPullSecret       = "pull-secret"
	setSigningKey       = "signing-key"
	setCredentials      = "credentials"
	setOperator         = "control-plane-operator"
	setCopies           = "copies"
	setPublishedSecrets = "handouts"
	setPolicies         = "network-policies"
	setLimits           = "limits"
)

// Made selects the objects of those groups, all that a cache needs to keep.
// Other controllers add their sets of the same kinds.
func Made(others ...string) labels.Selector {
	var values []string
	for _, set := range append([]string{setPullSecret, setSigningKey, setCredentials, setOperator, setCopies, setPublishedSecrets, clusterapi.ControllersSet, clusterapi.ClusterSet, setPolicies, setLimits}, others...) {
		values = append(values, names.HypershiftOperator+"."+set)
	}
	ours, err := labels.NewRequirement(apply.InventoryLabel, selection.In, values)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*ours)
}

// Setup starts the controllers with the manager. Package index must have registered its
// indexes.
func Setup(mgr ctrl.Manager, o Options) error {
	r := newReconciler(o)
	for name, index := range indexes {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &hyperv1.HostedCluster{}, name, index); err != nil {
			return fmt.Errorf("indexing HostedClusters by %s: %w", name, err)
		}
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &hyperv1.HostedCluster{}, userobjects.Index, userobjects.IndexValues); err != nil {
		return fmt.Errorf("indexing HostedClusters by %s: %w", userobjects.Index, err)
	}
	b := r.controller().Builder(mgr).
		For(&hyperv1.HostedCluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&hyperv1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(r.conflictingClusters), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(requestForNodePool), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.AWSEndpointService{}, handler.EnqueueRequestsFromMapFunc(r.requestsForNamespace))
	b = b.Watches(&hyperv1.HostedControlPlane{}, debounced(requestForAnnotation))
	for _, obj := range []client.Object{
		&corev1.Namespace{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
		&rbacv1.ClusterRoleBinding{}, &networkingv1.NetworkPolicy{},
	} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(requestForAnnotation))
	}
	for _, obj := range []client.Object{&corev1.ResourceQuota{}, &corev1.LimitRange{}} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(requestForAnnotation), builder.WithPredicates(quotaChanged))
	}
	if r.missing = discovery.MissingKinds(mgr.GetRESTMapper(), mgr.GetScheme(), clusterapi.Kinds()...); r.missing == "" {
		for _, obj := range []client.Object{&clusterv1.Cluster{}, &infrav1.AWSCluster{}} {
			b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(requestForAnnotation), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, finalizersChanged)))
		}
	}
	for _, obj := range []client.Object{&discoveryv1.EndpointSlice{}, &corev1.Service{}} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(r.enqueueAll))
	}
	b = b.Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(requestForAnnotation), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, deploymentConditionsChanged)))
	if r.PoliciesChanged != nil {
		b = b.WatchesRawSource(source.Channel(r.PoliciesChanged, handler.EnqueueRequestsFromMapFunc(r.enqueueAll)))
	}
	for _, src := range userobjects.Watches(r.Sources, r.requestsForSource) {
		b = b.WatchesRawSource(src)
	}
	return b.Complete(r.reconciler())
}

// finalizersChanged passes changes of the finalizers of an object.
var finalizersChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
}}

// deploymentConditionsChanged passes changes of a Deployment's conditions, not of the
// pods that it counts.
var deploymentConditionsChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, is := e.ObjectOld.(*appsv1.Deployment).Status.Conditions, e.ObjectNew.(*appsv1.Deployment).Status.Conditions
	return !slices.EqualFunc(was, is, func(a, b appsv1.DeploymentCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
	})
}}

// moment is how long what is said of a control plane waits for more of the kind. A
// handful of controllers say it, one after the other, and most of that is progress.
const debounce = 500 * time.Millisecond

// soon puts what changes in a moment into one pass. What comes and goes does not wait.
func debounced(requests handler.MapFunc) handler.EventHandler {
	now := handler.EnqueueRequestsFromMapFunc(requests)
	return handler.Funcs{
		CreateFunc: now.Create, DeleteFunc: now.Delete, GenericFunc: now.Generic,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !e.ObjectNew.GetDeletionTimestamp().IsZero() {
				now.Update(ctx, e, q)
				return
			}
			for _, req := range requests(ctx, e.ObjectNew) {
				q.AddAfter(req, debounce)
			}
		},
	}
}

func request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// requestForAnnotation leads from an object that was made for a cluster to the cluster.
func requestForAnnotation(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[hyperv1.HostedClusterAnnotation], "/")
	if !ok {
		return nil
	}
	return request(namespace, name)
}

func requestForNodePool(_ context.Context, obj client.Object) []reconcile.Request {
	return request(obj.GetNamespace(), obj.(*hyperv1.NodePool).Spec.ClusterName)
}

// requestsForNamespace leads from an AWSEndpointService, which another operator makes, to
// the cluster whose control plane is in its namespace.
func (r *Reconciler) requestsForNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.clusters(ctx, controlPlaneIndex, obj.GetNamespace())
}

// all clusters depend on the API server and on the network of the management cluster.
func (r *Reconciler) enqueueAll(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.enqueue(ctx)
}

// conflictingClusters are the clusters that have waited for this one to go away.
func (r *Reconciler) conflictingClusters(ctx context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for index, values := range indexes {
		for _, value := range values(obj) {
			requests = append(requests, r.clusters(ctx, index, value)...)
		}
	}
	return requests
}

func (r *Reconciler) clusters(ctx context.Context, index, value string) []reconcile.Request {
	return r.enqueue(ctx, client.MatchingFields{index: value})
}

func (r *Reconciler) enqueue(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing HostedClusters to wake up")
		return nil
	}
	var requests []reconcile.Request
	for _, hc := range list.Items {
		requests = append(requests, request(hc.Namespace, hc.Name)...)
	}
	return requests
}
