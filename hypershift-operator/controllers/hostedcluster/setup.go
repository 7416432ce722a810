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
	"k8s.io/apimachinery/pkg/api/equality"
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
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/isolation"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/publishedsecrets"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/discovery"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// byInfraID indexes an infraID before it is set: a cluster without an infraID gets the infraID at the end of its issuer's URL.
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

// indexes find the HostedClusters that want the same.
func indexes(servesRoutes bool) map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		infraIDIndex: byInfraID, controlPlaneIndex: byControlPlane, publishedsecrets.Index: publishedsecrets.IndexValues,
		hostnameIndex: func(obj client.Object) []string {
			return isolation.Hostnames(obj.(*hyperv1.HostedCluster), servesRoutes)
		},
	}
}

const workers = 10

// The sets of this package. Other packages apply sets of the same kinds in the
// namespace of a control plane.
const (
	setPullSecret = "pull-secret"
	setSigningKey = "signing-key"
	setOperator   = "control-plane-operator"
	setCopies     = "copies"
)

// AppliedObjects selects the objects of all sets, which are all that a cache needs to keep.
// Other controllers add their sets of the same kinds.
func AppliedObjects(others ...string) labels.Selector {
	var values []string
	for _, set := range append([]string{
		setPullSecret, setSigningKey, setOperator, setCopies,
		publishedsecrets.Set, clusterapi.ControllersSet, clusterapi.ClusterSet, isolation.PoliciesSet, isolation.LimitsSet, autonode.Set,
	}, others...) {
		values = append(values, names.HypershiftOperator+"."+set)
	}
	owned, err := labels.NewRequirement(apply.InventoryLabel, selection.In, values)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*owned)
}

// Setup starts the controllers with the manager. Package index must have registered its
// indexes.
func Setup(mgr ctrl.Manager, o Options) error {
	o.MissingCRDs = discovery.MissingKinds(mgr.GetRESTMapper(), mgr.GetScheme(), clusterapi.Kinds()...)
	r := newReconciler(o)
	w := watches{o.Client, o.ServesRoutes}
	for name, index := range indexes(o.ServesRoutes) {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &hyperv1.HostedCluster{}, name, index); err != nil {
			return fmt.Errorf("indexing HostedClusters by %s: %w", name, err)
		}
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &hyperv1.HostedCluster{}, userobjects.Index, userobjects.IndexValues); err != nil {
		return fmt.Errorf("indexing HostedClusters by %s: %w", userobjects.Index, err)
	}
	c := r.controller()
	b := c.Builder(mgr).
		For(&hyperv1.HostedCluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&hyperv1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(w.conflictingClusters), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(requestForNodePool), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.AWSEndpointService{}, handler.EnqueueRequestsFromMapFunc(w.requestsForNamespace)).
		Watches(&hyperv1.HCPEtcdBackup{}, handler.EnqueueRequestsFromMapFunc(w.requestsForNamespace), builder.WithPredicates(backupFinished))
	b = b.Watches(&hyperv1.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(requestForRestore))
	b = b.Watches(&hyperv1.HostedControlPlane{}, debounced(requestForAnnotation))
	for _, obj := range []client.Object{
		&corev1.Namespace{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}, &rbacv1.RoleBinding{},
		&rbacv1.ClusterRoleBinding{}, &networkingv1.NetworkPolicy{},
	} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(requestForAnnotation))
	}
	for _, obj := range []client.Object{&corev1.ResourceQuota{}, &corev1.LimitRange{}} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(requestForAnnotation), builder.WithPredicates(quotaChanged))
	}
	if r.MissingCRDs == "" {
		for _, obj := range []client.Object{&clusterv1.Cluster{}, &infrav1.AWSCluster{}} {
			b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(requestForAnnotation), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, finalizersChanged)))
		}
	}
	b = b.Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(w.enqueueAll))
	// Those of control planes concern one cluster, and not this controller.
	b = b.Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(w.enqueueAll), builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetLabels()[hyperv1.SharedRouterTargetLabel] == ""
	})))
	b = b.Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(requestForAnnotation), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, deploymentConditionsChanged)))
	if r.PoliciesChanged != nil {
		b = b.WatchesRawSource(source.Channel(r.PoliciesChanged, handler.EnqueueRequestsFromMapFunc(w.enqueueAll)))
	}
	for _, src := range userobjects.Watches(r.Sources, w.requestsForSource) {
		b = b.WatchesRawSource(src)
	}
	b = b.WatchesRawSource(publishedsecrets.Watch(r.Published, w.requestsForNamespace))
	return b.Complete(r.afterOrphans(c))
}

// requestForRestore is the HostedCluster of an EtcdRestore.
func requestForRestore(_ context.Context, obj client.Object) []reconcile.Request {
	r := obj.(*hyperv1.EtcdRestore)
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.HostedClusterName}}}
}

// backupFinished passes a backup when it ends. What it does before is no news about the cluster.
var backupFinished = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*hyperv1.HCPEtcdBackup)
		is, also := e.ObjectNew.(*hyperv1.HCPEtcdBackup)
		return ok && also && !hyperv1.IsBackupFinished(was) && hyperv1.IsBackupFinished(is)
	},
}

// quotaChanged ignores the status of a quota, which changes with every pod.
var quotaChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*corev1.ResourceQuota)
	is, also := e.ObjectNew.(*corev1.ResourceQuota)
	return !ok || !also || !equality.Semantic.DeepEqual(was.Spec, is.Spec) || !equality.Semantic.DeepEqual(was.Annotations, is.Annotations)
}}

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

// debounce is how long a change of a HostedControlPlane waits for more: several
// controllers report one after the other, and most reports are about progress.
const debounce = 500 * time.Millisecond

// debounced combines changes within a short time into one reconcile. Creation and
// deletion do not wait.
func debounced(requests handler.MapFunc) handler.EventHandler {
	now := handler.EnqueueRequestsFromMapFunc(requests)
	return handler.Funcs{
		CreateFunc: now.Create, DeleteFunc: now.Delete, GenericFunc: now.Generic,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !e.ObjectNew.GetDeletionTimestamp().IsZero() || e.ObjectNew.GetAnnotations()[hyperv1.HostedClusterDeletedAnnotation] == "true" {
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

// requestForAnnotation maps an object that was created for a cluster to the cluster.
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

// watches map objects to HostedClusters, which they list from the cache.
type watches struct {
	reader       client.Reader
	servesRoutes bool
}

// requestsForNamespace maps an AWSEndpointService, which another operator creates, to
// the cluster with the control plane in its namespace.
func (w watches) requestsForNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return w.clusters(ctx, controlPlaneIndex, obj.GetNamespace())
}

// enqueueAll is for the API server and the network of the management cluster, on which
// all clusters depend.
func (w watches) enqueueAll(ctx context.Context, _ client.Object) []reconcile.Request {
	return w.enqueue(ctx)
}

// conflictingClusters maps a cluster to those that wait for its deletion.
func (w watches) conflictingClusters(ctx context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for index, values := range indexes(w.servesRoutes) {
		for _, value := range values(obj) {
			requests = append(requests, w.clusters(ctx, index, value)...)
		}
	}
	return requests
}

func (w watches) clusters(ctx context.Context, index, value string) []reconcile.Request {
	return w.enqueue(ctx, client.MatchingFields{index: value})
}

func (w watches) enqueue(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var list hyperv1.HostedClusterList
	// Only names are read: a copy of each object would be garbage at once.
	if err := w.reader.List(ctx, &list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing HostedClusters to wake up")
		return nil
	}
	var requests []reconcile.Request
	for _, hc := range list.Items {
		requests = append(requests, request(hc.Namespace, hc.Name)...)
	}
	return requests
}

// requestsForSource maps an object of a user to the clusters that name it, and a Secret of a
// control plane that its user has made, and that is published, to its cluster.
func (w watches) requestsForSource(ctx context.Context, kind userobjects.Kind, obj client.Object) []reconcile.Request {
	requests := w.clusters(ctx, userobjects.Index, userobjects.IndexValue(kind, obj))
	if kind != userobjects.Secret {
		return requests
	}
	for _, req := range w.clusters(ctx, controlPlaneIndex, obj.GetNamespace()) {
		hcp := &hyperv1.HostedControlPlane{}
		if err := w.reader.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: req.Name}, hcp); err != nil {
			if client.IgnoreNotFound(err) != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Getting a HostedControlPlane to find the Secrets that it publishes")
			}
			continue
		}
		if publishedsecrets.IsSource(hcp, obj.GetName()) {
			requests = append(requests, req)
		}
	}
	return requests
}
