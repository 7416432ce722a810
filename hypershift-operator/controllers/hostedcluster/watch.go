package hostedcluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// sourceIndex finds the clusters that name an object of the user's.
const sourceIndex = "sources"

// bySource lists what a cluster names, as sourceID writes it.
func bySource(obj client.Object) []string {
	hc := obj.(*hyperv1.HostedCluster)
	refs := append(references(hc), pullSecretOf(&hc.Spec))
	if hc.Spec.ServiceAccountSigningKey != nil {
		refs = append(refs, signingKeyOf(&hc.Spec))
	}
	var ids []string
	seen := map[string]bool{}
	for _, ref := range refs {
		if id := sourceID(ref.kind, hc.Namespace, *ref.name); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// watchSources tells of every change of what the user brought. The cache knows
// names and versions only; the contents are read when they are needed.
func (r *Reconciler) watchSources(c cache.Cache) []source.Source {
	watch := func(kind kind) source.Source {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(kind)))
		return source.Kind(c, obj, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, obj *metav1.PartialObjectMetadata) []reconcile.Request {
			return r.ofSource(ctx, kind, obj)
		}))
	}
	return []source.Source{watch(inSecret), watch(inConfigMap)}
}

// ofSource leads from an object to the clusters that name it, and from a Secret
// that a control plane hands out to its cluster.
func (r *Reconciler) ofSource(ctx context.Context, kind kind, obj client.Object) []reconcile.Request {
	requests := r.clusters(ctx, sourceIndex, sourceID(kind, obj.GetNamespace(), obj.GetName()))
	if kind != inSecret {
		return requests
	}
	for _, req := range r.clusters(ctx, controlPlaneIndex, obj.GetNamespace()) {
		hcp := &hyperv1.HostedControlPlane{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: req.Name}, hcp); err != nil {
			if client.IgnoreNotFound(err) != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Getting a HostedControlPlane to see what it hands out")
			}
			continue
		}
		for _, h := range handouts {
			if name, _ := h.from(hcp); name == obj.GetName() {
				requests = append(requests, req)
			}
		}
	}
	return requests
}
