// Package apply applies the objects that an operator owns: server-side apply with one field owner, no write without a
// difference, and pruning of objects that are no longer desired.
package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// InventoryLabel is on every object of a Set. Its value names the operator and the set. Prune finds the objects of a set
	// by it.
	InventoryLabel = "hypershift.openshift.io/inventory"
	// AppliedAnnotation holds the hash of the last applied object. After a restart, it still shows that a field was removed
	// from the desired object.
	AppliedAnnotation = "hypershift.openshift.io/applied"
)

// A Set is a group of objects that are applied and pruned together.
type Set struct {
	// Name is unique in an operator, short, and must not change: it is part of a label.
	Name string
	// Namespace is the namespace of the namespaced objects of the set.
	Namespace string
	// Kinds lists every kind that the set has or has ever had.
	Kinds []client.ObjectList
	// Parent, if set, becomes the controlling owner of the objects. It is in the same namespace. Sets with the same name and
	// different parents are different sets: one does not prune objects of the other.
	Parent client.Object
	// Independent is set when the objects do not depend on each other. They are applied in parallel, and an error does not
	// stop the others. Otherwise they are applied in order, up to the first error.
	Independent bool
}

// maxParallel is how many independent objects are applied at the same time: enough to hide the latency of writes, and a small
// load for an API server.
const maxParallel = 8

// An Applier applies objects under one field owner.
type Applier struct {
	client      client.Client
	scheme      *runtime.Scheme
	owner       string
	comparisons *comparisons
}

// New returns an Applier. Reads go through c, which should be cached.
func New(c client.Client, scheme *runtime.Scheme, owner string) *Applier {
	return &Applier{client: c, scheme: scheme, owner: owner, comparisons: newComparisons(maxComparisons, clock.RealClock{})}
}

// Apply applies objs, prunes the objects of the set that are not among them, and reports whether it wrote anything. Fields
// that objs do not set are left to the API server and to other writers.
func (a *Applier) Apply(ctx context.Context, set Set, objs ...client.Object) (changed bool, err error) {
	written, pruned, err := a.ApplyEach(ctx, set, objs...)
	return len(written) > 0 || pruned, err
}

// ApplyEach does the same, and returns the objects that it wrote.
func (a *Applier) ApplyEach(ctx context.Context, set Set, objs ...client.Object) (written []client.Object, pruned bool, err error) {
	wanted, ids := map[objectID]bool{}, make([]objectID, len(objs))
	for i, obj := range objs {
		if ids[i], err = a.identify(obj); err != nil {
			return nil, false, err
		}
		wanted[ids[i]] = true
	}
	each := inOrder
	if set.Independent {
		each = inParallel
	}
	wrote := make([]bool, len(objs))
	err = each(len(objs), func(i int) (err error) {
		if wrote[i], err = a.applyOne(ctx, set, ids[i], objs[i]); err != nil {
			return fmt.Errorf("applying %s %s: %w", ids[i].Kind, client.ObjectKeyFromObject(objs[i]), err)
		}
		return nil
	})
	for i, obj := range objs {
		if wrote[i] {
			written = append(written, obj)
		}
	}
	if err != nil {
		return written, false, err
	}
	deleted, err := a.prune(ctx, set, wanted)
	return written, len(deleted) > 0, err
}

// A cache usually contains a written object after milliseconds. Await does not wait longer for a slower one.
const awaitInterval, awaitTimeout = 2 * time.Millisecond, 250 * time.Millisecond

// Await reports whether the cache contains the objects as they were applied, and waits briefly for it. Then a caller that depends
// on them can continue.
func (a *Applier) Await(ctx context.Context, set Set, objs ...client.Object) bool {
	return wait.PollUntilContextTimeout(ctx, awaitInterval, awaitTimeout, true, func(ctx context.Context) (bool, error) {
		for _, obj := range objs {
			if seen, err := a.seen(ctx, set, obj); err != nil || !seen {
				return false, err
			}
		}
		return true, nil
	}) == nil
}

func (a *Applier) seen(ctx context.Context, set Set, obj client.Object) (bool, error) {
	id, err := a.identify(obj)
	if err != nil {
		return false, err
	}
	hash, err := a.hash(set, id, obj)
	if err != nil {
		return false, err
	}
	live, err := a.live(ctx, id, obj)
	return err == nil && live.GetAnnotations()[AppliedAnnotation] == hash, client.IgnoreNotFound(err)
}

// live returns the object from the cache. It shares its parts with the cache, and must not be changed.
func (a *Applier) live(ctx context.Context, id objectID, obj client.Object) (client.Object, error) {
	live := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if u, ok := live.(*unstructured.Unstructured); ok {
		u.SetGroupVersionKind(id.GroupVersionKind)
	}
	return live, a.client.Get(ctx, client.ObjectKeyFromObject(obj), live, client.UnsafeDisableDeepCopy)
}

func inOrder(n int, do func(int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// inParallel calls do for all, and returns every error.
func inParallel(n int, do func(int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			errs[i] = do(i)
			<-places
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (a *Applier) applyOne(ctx context.Context, set Set, id objectID, obj client.Object) (wrote bool, err error) {
	hash, err := a.hash(set, id, obj)
	if err != nil {
		return false, err
	}
	live, err := a.live(ctx, id, obj)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	found := err == nil
	same := comparisonOf(hash, live)
	if found && a.comparisons.has(id, same) {
		return false, nil
	}
	want, err := a.desired(set, id, obj, hash)
	if err != nil {
		return false, err
	}
	if found {
		if err := a.checkOwned(live, want); err != nil {
			return false, err
		}
		done, err := upToDate(want, live)
		if err != nil {
			return false, err
		}
		if done {
			a.comparisons.add(id, same)
			return false, nil
		}
	}
	return true, a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), client.FieldOwner(a.owner), client.ForceOwnership)
}

// A ForeignError is returned for an existing object that another writer owns.
type ForeignError struct{ Kind, Name, Owner string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %q exists and belongs to %s; delete or rename it", e.Kind, e.Name, e.Owner)
}

// checkOwned returns a ForeignError for an existing object that no set of this operator created. If it were adopted, pruning
// would delete it.
func (a *Applier) checkOwned(live client.Object, want *unstructured.Unstructured) error {
	inventory := live.GetLabels()[InventoryLabel]
	current, desired := metav1.GetControllerOf(live), metav1.GetControllerOf(want)
	switch {
	case current != nil && desired != nil && current.UID != desired.UID:
		inventory = current.Kind + " " + current.Name
	case inventory == want.GetLabels()[InventoryLabel]:
		return nil
	case inventory == "":
		inventory = "an unknown owner"
	}
	return &ForeignError{Kind: want.GetKind(), Name: live.GetName(), Owner: inventory}
}
