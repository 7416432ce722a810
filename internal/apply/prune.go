package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Delete deletes every object of the set and reports whether all are gone.
func (a *Applier) Delete(ctx context.Context, set Set) (deleted bool, err error) {
	remaining, err := a.prune(ctx, set, nil)
	return err == nil && len(remaining) == 0, err
}

func (a *Applier) inventory(set Set) string { return a.owner + "." + set.Name }

// prune deletes the objects of the set that are not desired, and returns those that still exist.
func (a *Applier) prune(ctx context.Context, set Set, wanted map[objectID]bool) (remaining []objectID, err error) {
	for _, kind := range set.Kinds {
		list := kind.DeepCopyObject().(client.ObjectList)
		// The items share their parts with the cache, and are not changed.
		err := a.client.List(ctx, list, client.InNamespace(set.Namespace), client.MatchingLabels{InventoryLabel: a.inventory(set)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return remaining, fmt.Errorf("listing %T of set %s: %w", kind, set.Name, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return remaining, err
		}
		for _, item := range items {
			obj := item.(client.Object)
			id, err := a.identify(obj)
			if err != nil {
				return remaining, err
			}
			if wanted[id] || set.Parent != nil && !metav1.IsControlledBy(obj, set.Parent) {
				continue
			}
			remaining = append(remaining, id)
			if err := reconcile.Delete(ctx, a.client, obj.DeepCopyObject().(client.Object)); err != nil {
				return remaining, err
			}
		}
	}
	return remaining, nil
}
