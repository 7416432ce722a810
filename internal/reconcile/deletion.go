package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// RemoveFinalizer removes the finalizer from obj. An object that is gone has none.
func RemoveFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	return client.IgnoreNotFound(patchFinalizers(ctx, c, obj, controllerutil.RemoveFinalizer, "removing", finalizer))
}

// Delete deletes obj as it was last read, and only so. An API server first checks for
// finalizers and then removes the object: a finalizer that is added in between would
// go with the object, and with it the only record of resources outside of the cluster. With the
// resourceVersion as a precondition that is a conflict, and a wait for the watch to deliver the newer
// object. An object that is gone, or is being deleted, is left alone.
func Delete(ctx context.Context, c client.Client, obj client.Object) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Deleting", "kind", kind.Kind, "object", client.ObjectKeyFromObject(obj).String())
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err = c.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	switch {
	case apierrors.IsConflict(err):
		return Unknown(conflictDelay, string(metav1.StatusReasonConflict), "%s %s has changed meanwhile; it will be deleted as it is then", kind.Kind, obj.GetName())
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("deleting %s %s: %w", kind.Kind, obj.GetName(), err)
	}
	return nil
}

func patchFinalizers(ctx context.Context, c client.Client, obj client.Object, change func(client.Object, string) bool, doing, finalizer string) error {
	changed := obj.DeepCopyObject().(client.Object)
	if !change(changed, finalizer) {
		return nil
	}
	// Only the list is sent. The rest of the answer is not taken over, because the status of obj may already hold the results of this
	// reconcile.
	patch := mergepatch.Metadata(map[string]any{"finalizers": changed.GetFinalizers(), "resourceVersion": obj.GetResourceVersion()})
	if err := c.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("%s finalizer %s: %w", doing, finalizer, err)
	}
	obj.SetFinalizers(changed.GetFinalizers())
	obj.SetResourceVersion(changed.GetResourceVersion())
	return nil
}
