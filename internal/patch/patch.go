// Package patch writes what a reconcile has learned: the status once, at the
// end, and finalizers one by one, each only when it makes a difference.
//
//	our turn among the writers of this process
//	      ▼
//	the object in the cache ── our part is another, or what is asked of us ──► conflict: the pass is repeated
//	      │ else                                        ▲
//	      ▼                                             │
//	write, as of that version ── conflict ──► the object past the cache
//	      │  ▲                                          │ else
//	    taken └────────── as of its version ◄───────────┘
//	      ▼
//	the cache has it: the next turn, and the next pass, begin with it
//
// Several controllers share one object, each with a part of its status. That
// another one wrote his is no reason to do all work again, nor to be refused
// before we know of it.
package patch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A Status writes one writer's part of an object's status by server-side
// apply, so that several writers can share one status without losing a field,
// and the writer's finalizers.
type Status[T client.Object] struct {
	client client.Client
	live   client.Reader
	obj    T
	owner  string
	mine   func(T) any
	before []byte
}

// New remembers the status of obj as it is now. mine returns the part of it
// that owner writes, as a value that marshals to a JSON object; a field that
// mine leaves out is given up. live reads past the cache.
func New[T client.Object](c client.Client, live client.Reader, obj T, owner string, mine func(T) any) *Status[T] {
	s := &Status[T]{client: c, live: live, obj: obj, owner: owner, mine: mine}
	// What does not marshal now does not marshal in Close, which says so.
	s.before, _ = json.Marshal(mine(obj))
	return s
}

// Close writes our part of the status if it changed since New, as of a resource
// version: that of the copy that the reconcile started from. If somebody else has
// written meanwhile, and neither our part nor what the reconcile was asked to do,
// then the object is as if we had been faster, and is written in its new version.
// Else the conflict stands: a pass over an old copy never takes a newer field away.
// An object that is gone is a conflict too, or nothing at all: it is not brought back.
func (s *Status[T]) Close(ctx context.Context) error {
	after, err := json.Marshal(s.mine(s.obj))
	if err != nil {
		return fmt.Errorf("marshalling status: %w", err)
	}
	if bytes.Equal(s.before, after) {
		return nil
	}
	err = s.insist(ctx, func() error { return s.apply(ctx, after) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing status of %T %s: %w", s.obj, client.ObjectKeyFromObject(s.obj), err)
	}
	s.before = after
	return nil
}

// AddFinalizer puts the finalizer on the object, in the cluster and in memory,
// so that the pass goes on with the version that it wrote.
func (s *Status[T]) AddFinalizer(ctx context.Context, finalizer string) error {
	if controllerutil.ContainsFinalizer(s.obj, finalizer) {
		return nil
	}
	return s.insist(ctx, func() error {
		return finalizers(ctx, s.client, s.obj, controllerutil.AddFinalizer, "adding", finalizer)
	})
}

func (s *Status[T]) apply(ctx context.Context, part []byte) error {
	u, err := identity(s.obj, s.client.Scheme())
	if err != nil {
		return err
	}
	var status map[string]any
	if err := json.Unmarshal(part, &status); err != nil {
		return fmt.Errorf("status is not a JSON object: %w", err)
	}
	u.Object["status"] = status
	if err := s.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(s.owner), client.ForceOwnership); err != nil {
		return err
	}
	s.obj.SetResourceVersion(u.GetResourceVersion())
	return nil
}

// attempts is how often a write is tried: each of a handful of writers may come
// before us once.
const attempts = 5

// insist makes a write, and repeats it if others came before.
func (s *Status[T]) insist(ctx context.Context, write func() error) error {
	done, err := inTurn.take(ctx, s.obj.GetUID())
	if err != nil {
		return err
	}
	defer done()
	err = s.catchUp(ctx, s.client)
	for try := 1; err == nil; try++ {
		if err = write(); err == nil {
			s.awaitCache(ctx)
			return nil
		}
		if try == attempts || !apierrors.IsConflict(err) {
			break
		}
		err = s.catchUp(ctx, s.live)
	}
	return err
}

// A cache is behind by milliseconds. One that is behind by more costs a conflict
// now and then; it is not waited for.
const glance, patience = time.Millisecond, 250 * time.Millisecond

// awaitCache waits until the cache has what was written: whoever begins with less
// is refused in the end.
func (s *Status[T]) awaitCache(ctx context.Context) {
	_ = wait.PollUntilContextTimeout(ctx, glance, patience, true, func(ctx context.Context) (bool, error) {
		_, newer, err := s.now(ctx, s.client)
		return newer >= 0, err
	})
}

// now is the object as somebody has it, and whether that is newer than ours (1),
// the same (0), or older (-1).
func (s *Status[T]) now(ctx context.Context, from client.Reader) (now T, newer int, err error) {
	now = reflect.New(reflect.TypeOf(s.obj).Elem()).Interface().(T)
	if err := from.Get(ctx, client.ObjectKeyFromObject(s.obj), now); err != nil {
		return now, 0, fmt.Errorf("reading what others have written: %w", err)
	}
	if newer, err = resourceversion.CompareResourceVersion(now.GetResourceVersion(), s.obj.GetResourceVersion()); err != nil {
		return now, 0, fmt.Errorf("comparing versions: %w", err)
	}
	return now, newer, nil
}

// catchUp moves on to the version that the object has by now. It is a conflict if
// our part of the status is not there as we know it, or something else is asked of
// us. Finalizers come with the version: a later write of them must not take one away.
func (s *Status[T]) catchUp(ctx context.Context, from client.Reader) error {
	now, newer, err := s.now(ctx, from)
	if apierrors.IsNotFound(err) {
		return s.conflict() // who repeats the pass finds nothing to do
	}
	if err != nil || newer <= 0 {
		return err
	}
	part, err := json.Marshal(s.mine(now))
	if err != nil {
		return fmt.Errorf("marshalling status: %w", err)
	}
	if now.GetUID() != s.obj.GetUID() || now.GetGeneration() != s.obj.GetGeneration() ||
		!now.GetDeletionTimestamp().Equal(s.obj.GetDeletionTimestamp()) || !bytes.Equal(part, s.before) {
		return s.conflict()
	}
	s.obj.SetFinalizers(now.GetFinalizers())
	s.obj.SetResourceVersion(now.GetResourceVersion())
	return nil
}

func (s *Status[T]) conflict() error {
	return apierrors.NewConflict(schema.GroupResource{}, s.obj.GetName(), errors.New("what was acted on is old"))
}

// identity names obj as it was read: kind, name, uid and version, nothing else.
func identity(obj client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	u.SetResourceVersion(obj.GetResourceVersion())
	return u, nil
}

// RemoveFinalizer takes the finalizer from obj. An object that is gone has none.
func RemoveFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	return client.IgnoreNotFound(finalizers(ctx, c, obj, controllerutil.RemoveFinalizer, "removing", finalizer))
}

// Delete asks obj to go as it was last seen, and only so. To an API server a
// deletion is a look, whether there are finalizers, and a removal; one that
// somebody adds in between would go with the object, and with it the only word
// of what was made outside. A resourceVersion makes that a conflict. An object
// that is gone, or going, is not asked.
func Delete(ctx context.Context, c client.Client, obj client.Object) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Deleting", "object", fmt.Sprintf("%T", obj), "namespace", obj.GetNamespace(), "name", obj.GetName())
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err := c.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

func finalizers(ctx context.Context, c client.Client, obj client.Object, change func(client.Object, string) bool, doing, finalizer string) error {
	changed := obj.DeepCopyObject().(client.Object)
	if !change(changed, finalizer) {
		return nil
	}
	// Only the list is sent. The rest of the answer is not taken over: the
	// status of obj may already hold what this pass has learned.
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"finalizers":      changed.GetFinalizers(),
		"resourceVersion": obj.GetResourceVersion(),
	}})
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, changed, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("%s finalizer %s: %w", doing, finalizer, err)
	}
	obj.SetFinalizers(changed.GetFinalizers())
	obj.SetResourceVersion(changed.GetResourceVersion())
	return nil
}
