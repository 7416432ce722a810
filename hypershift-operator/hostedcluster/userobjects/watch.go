package userobjects

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Index finds the HostedClusters that name an object of their user.
const Index = "sources"

// IndexValues returns the identifiers of all objects that a HostedCluster names.
func IndexValues(obj client.Object) []string {
	hc := obj.(*hyperv1.HostedCluster)
	var ids []string
	seen := map[string]bool{}
	for _, ref := range all(hc) {
		if id := sourceID(ref.Kind, hc.Namespace, *ref.Name); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// IndexValue returns the identifier of one object.
func IndexValue(kind Kind, obj client.Object) string {
	return sourceID(kind, obj.GetNamespace(), obj.GetName())
}

// Watches report every change of a Secret or ConfigMap. The cache has metadata
// only; contents are read when they are needed.
func Watches(c cache.Cache, requests func(context.Context, Kind, client.Object) []reconcile.Request) []source.Source {
	watch := func(kind Kind) source.Source {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(kind)))
		return source.Kind(c, obj, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, obj *metav1.PartialObjectMetadata) []reconcile.Request {
			return requests(ctx, kind, obj)
		}))
	}
	return []source.Source{watch(Secret), watch(ConfigMap)}
}
