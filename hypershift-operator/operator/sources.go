package operator

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// newSources returns a cache of the Secrets and ConfigMaps that no operator has
// applied: the users' are among them, in any namespace and under any name.
func newSources(mgr ctrl.Manager) (cache.Cache, error) {
	notOurs, err := labels.NewRequirement(apply.InventoryLabel, selection.DoesNotExist, nil)
	utilruntime.Must(err)
	return metadataCache(mgr, labels.NewSelector().Add(*notOurs))
}

// newPublished returns a cache of the Secrets that control planes have for users.
func newPublished(mgr ctrl.Manager) (cache.Cache, error) {
	return metadataCache(mgr, labels.SelectorFromSet(labels.Set{names.PublishedLabel: names.Published}))
}

// metadataCache returns a cache of names and versions, without contents.
func metadataCache(mgr ctrl.Manager, selector labels.Selector) (cache.Cache, error) {
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultLabelSelector: selector,
		DefaultTransform:     nameAndVersion,
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of objects with labels %s: %w", selector, err)
	}
	return c, mgr.Add(c)
}

// nameAndVersion reduces an object to the fields that identify a change.
func nameAndVersion(obj any) (any, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta:   m.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion},
	}, nil
}
