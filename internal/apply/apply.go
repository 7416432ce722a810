// Package apply makes the objects that an operator owns what they should be:
// server-side apply with one field owner, no write where nothing differs, and
// deletion of what is no longer wanted.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/hosted-control-planes/hypershift/internal/patch"
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

// Delete deletes every object of the set and says whether all are gone.
func (a *Applier) Delete(ctx context.Context, set Set) (gone bool, err error) {
	left, err := a.prune(ctx, set, nil)
	return err == nil && len(left) == 0, err
}

// desired is obj as we send it: labelled, owned, hashed, without status and nulls.
func (a *Applier) desired(set Set, id objectID, obj client.Object, hash string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting: %w", err)
	}
	want := &unstructured.Unstructured{Object: content}
	want.SetGroupVersionKind(id.GroupVersionKind)
	unstructured.RemoveNestedField(content, "status")
	dropNulls(content)
	want.SetLabels(with(want.GetLabels(), InventoryLabel, a.inventory(set)))
	if set.Parent != nil {
		if err := controllerutil.SetControllerReference(set.Parent, want, a.scheme); err != nil {
			return nil, err
		}
	}
	want.SetAnnotations(with(want.GetAnnotations(), AppliedAnnotation, hash))
	return want, nil
}

// dropNulls takes out what a Go type writes as null because it has no omitempty.
// It says nothing, and the API server puts a default in its place: that would be
// a difference for ever.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			if entry == nil {
				delete(v, key)
			}
			dropNulls(entry)
		}
	case []any:
		for _, entry := range v {
			dropNulls(entry)
		}
	}
}

func (a *Applier) inventory(set Set) string { return a.owner + "." + set.Name }

func (a *Applier) applyOne(ctx context.Context, set Set, id objectID, obj client.Object) (wrote bool, err error) {
	hash, err := a.hash(set, id, obj)
	if err != nil {
		return false, err
	}
	live := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if u, ok := live.(*unstructured.Unstructured); ok {
		u.SetGroupVersionKind(id.GroupVersionKind)
	}
	err = a.client.Get(ctx, client.ObjectKeyFromObject(obj), live)
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

// prune deletes what the set owns and does not want, and returns what of that
// is still there.
func (a *Applier) prune(ctx context.Context, set Set, wanted map[objectID]bool) (left []objectID, err error) {
	for _, kind := range set.Kinds {
		list := kind.DeepCopyObject().(client.ObjectList)
		err := a.client.List(ctx, list, client.InNamespace(set.Namespace), client.MatchingLabels{InventoryLabel: a.inventory(set)})
		if err != nil {
			return left, fmt.Errorf("listing %T of set %s: %w", kind, set.Name, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return left, err
		}
		for _, item := range items {
			obj := item.(client.Object)
			id, err := a.identify(obj)
			if err != nil {
				return left, err
			}
			if wanted[id] || set.Parent != nil && !metav1.IsControlledBy(obj, set.Parent) {
				continue
			}
			left = append(left, id)
			if err := patch.Delete(ctx, a.client, obj); err != nil {
				return left, err
			}
		}
	}
	return left, nil
}

type objectID struct {
	schema.GroupVersionKind
	Namespace, Name string
}

func (a *Applier) identify(obj client.Object) (objectID, error) {
	gvk, err := apiutil.GVKForObject(obj, a.scheme)
	return objectID{GroupVersionKind: gvk, Namespace: obj.GetNamespace(), Name: obj.GetName()}, err
}

// hash is of everything that desired depends on.
func (a *Applier) hash(set Set, id objectID, obj client.Object) (string, error) {
	var parent types.UID
	if set.Parent != nil {
		parent = set.Parent.GetUID()
	}
	text, err := json.Marshal([]any{a.inventory(set), parent, id, obj}) // map keys are sorted: the same object has the same text
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// A verdict says that live object and desired one, in these versions, were
// compared and nothing differed. While both stay, nobody has to look again. It is
// a digest: an operator has one for each object that it ever applied.
type verdict [16]byte

// nothingDiffers is the verdict on live and what has that hash, which is of the
// object's name, too.
func nothingDiffers(hash string, live client.Object) verdict {
	sum := sha256.Sum256([]byte(hash + " " + string(live.GetUID()) + " " + live.GetResourceVersion()))
	return verdict(sum[:16])
}

// maxVerdicts is how many of them are remembered: a thousand hosted clusters have
// half as many objects. With one too few, all would be forgotten before they come
// by again.
const maxVerdicts = 1 << 16

// upToDate says whether applying want would change nothing: the same thing was
// applied last, and all of it still stands in live.
func upToDate(want *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[AppliedAnnotation] != want.GetAnnotations()[AppliedAnnotation] {
		return false, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	// The cached copy of a typed object has no kind, and want has no more to
	// say about its identity than the key it was found by.
	have := &unstructured.Unstructured{Object: content}
	have.SetGroupVersionKind(want.GroupVersionKind())
	return contains(have.Object, want.Object), nil
}

// contains says whether have has everything that want has. Lists are compared
// entry by entry: an entry that somebody else added is a difference.
func contains(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !contains(h[k], v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return len(w) == 0 && have == nil
		}
		for i := range w {
			if !contains(h[i], w[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(have, want)
	}
}

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}
