// Package apply makes the objects that an operator owns what they should be:
// server-side apply with one field owner, no write where nothing differs, and
// deletion of what is no longer wanted.
package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// InventoryLabel is on every object that a Set owns; its value names the
	// operator and the set. It is how a set finds what it no longer wants.
	InventoryLabel = "hypershift.openshift.io/inventory"
	// AppliedAnnotation holds the hash of what was last applied. It tells a
	// new process, too, that a field was taken out of the desired object.
	AppliedAnnotation = "hypershift.openshift.io/applied"
)

// A Set is a group of objects that are applied and pruned together.
type Set struct {
	// Name is unique per operator, short, and stays: it is part of a label.
	Name string
	// Namespace is where the namespaced objects of the set live.
	Namespace string
	// Kinds lists every kind that the set has or ever had.
	Kinds []client.ObjectList
	// Parent, if there is one, becomes the controlling owner of the objects.
	// It lives in the same namespace. Sets of the same name with other parents
	// are other sets: one does not prune what another has.
	Parent client.Object
	// Independent says that no object of the set needs another: they are applied
	// at the same time, and what keeps one back keeps back no other. Else, they
	// are applied in their order, up to the first that cannot be.
	Independent bool
}

// atOnce is how many independent objects are applied at the same time: enough
// not to wait for each write, and few beside what an API server has to do.
const atOnce = 8

// An Applier applies objects under one field owner.
type Applier struct {
	client   client.Client
	scheme   *runtime.Scheme
	owner    string
	verdicts *lru.Cache // of verdict
}

// New returns an Applier. Reads go through c, which should be cached.
func New(c client.Client, scheme *runtime.Scheme, owner string) *Applier {
	return &Applier{client: c, scheme: scheme, owner: owner, verdicts: lru.New(maxVerdicts)}
}

// Apply makes objs exist as they are written, deletes what the set has had and
// no longer has, and says whether it wrote anything. A field that objs do not
// set is left to the API server and to other writers.
func (a *Applier) Apply(ctx context.Context, set Set, objs ...client.Object) (changed bool, err error) {
	wanted, ids := map[objectID]bool{}, make([]objectID, len(objs))
	for i, obj := range objs {
		if ids[i], err = a.identify(obj); err != nil {
			return false, err
		}
		wanted[ids[i]] = true
	}
	each := inOrder
	if set.Independent {
		each = together
	}
	var wrote atomic.Bool
	err = each(len(objs), func(i int) error {
		one, err := a.applyOne(ctx, set, ids[i], objs[i])
		if one {
			wrote.Store(true)
		}
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", ids[i].Kind, client.ObjectKeyFromObject(objs[i]), err)
		}
		return nil
	})
	if err != nil {
		return wrote.Load(), err
	}
	pruned, err := a.prune(ctx, set, wanted)
	return wrote.Load() || len(pruned) > 0, err
}

// A cache has what was written after milliseconds; one that is slower is not waited for.
const glance, patience = 2 * time.Millisecond, 250 * time.Millisecond

// Await says whether the cache has the objects as they were applied, and gives it
// a moment for that: who needs them can go on then.
func (a *Applier) Await(ctx context.Context, set Set, objs ...client.Object) bool {
	return wait.PollUntilContextTimeout(ctx, glance, patience, true, func(ctx context.Context) (bool, error) {
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

// live is the object as the cache has it.
func (a *Applier) live(ctx context.Context, id objectID, obj client.Object) (client.Object, error) {
	live := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if u, ok := live.(*unstructured.Unstructured); ok {
		u.SetGroupVersionKind(id.GroupVersionKind)
	}
	return live, a.client.Get(ctx, client.ObjectKeyFromObject(obj), live)
}

func inOrder(n int, do func(int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// together does all, and returns every error.
func together(n int, do func(int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, atOnce)
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
	same := nothingDiffers(hash, live)
	if _, known := a.verdicts.Get(same); found && known {
		return false, nil
	}
	want, err := a.desired(set, id, obj, hash)
	if err != nil {
		return false, err
	}
	if found {
		if err := a.ours(live, want); err != nil {
			return false, err
		}
		done, err := upToDate(want, live)
		if err != nil {
			return false, err
		}
		if done {
			a.verdicts.Add(same, nil)
			return false, nil
		}
	}
	return true, a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), client.FieldOwner(a.owner), client.ForceOwnership)
}

// A ForeignError says that an object which we would write belongs to somebody else.
type ForeignError struct{ Kind, Name, Owner string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %q exists and belongs to %s; delete or rename it", e.Kind, e.Name, e.Owner)
}

// ours refuses an object that is there but that no set of this operator made:
// adopting it would end in deleting it.
func (a *Applier) ours(live client.Object, want *unstructured.Unstructured) error {
	inventory := live.GetLabels()[InventoryLabel]
	was, is := metav1.GetControllerOf(live), metav1.GetControllerOf(want)
	switch {
	case was != nil && is != nil && was.UID != is.UID:
		inventory = was.Kind + " " + was.Name
	case inventory == want.GetLabels()[InventoryLabel]:
		return nil
	case inventory == "":
		inventory = "somebody else"
	}
	return &ForeignError{Kind: want.GetKind(), Name: live.GetName(), Owner: inventory}
}
