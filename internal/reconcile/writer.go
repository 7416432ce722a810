package reconcile

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
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A Writer writes what one reconcile has determined: its part of the status by
// server-side apply, so that several writers can share one status, and its
// finalizers. It writes only what differs.
//
//	lock of the object, in this process
//	      ▼
//	the object in the cache ── our part, the generation or the deletion differs ──► conflict: reconcile again
//	      │ else                                                 ▲
//	      ▼                                                      │
//	write with that resourceVersion ── conflict ──► the object, read past the cache
//	      │  ▲                                                   │ else
//	    written └──────── with its resourceVersion ◄─────────────┘
//	      ▼
//	wait until the cache has the write: the next writer, and the next reconcile, begin with it
//
// Several controllers share one object, each with a part of its status. On a
// conflict with another part only the write is repeated. Repeating the whole
// reconcile would double its calls of AWS.
type Writer[T client.Object] struct {
	client client.Client
	live   client.Reader
	obj    T
	owner  string
	part   func(T) any
	before []byte
}

// NewWriter remembers the status of obj as it is now. part returns what owner writes
// of it, as a value that marshals to a JSON object; a field that is left out is
// given up. live reads past the cache.
func NewWriter[T client.Object](c client.Client, live client.Reader, obj T, owner string, part func(T) any) *Writer[T] {
	w := &Writer[T]{client: c, live: live, obj: obj, owner: owner, part: part}
	// What does not marshal now does not marshal in Write either, which returns the error.
	w.before, _ = json.Marshal(part(obj))
	return w
}

// Write writes our part of the status if it differs from what was written last. The
// write carries the resourceVersion that the reconcile began with. If another writer
// has changed the object since, and neither our part nor the desired state, the
// write is repeated with the newer version; otherwise the conflict is returned, so
// that a reconcile of an old copy never replaces a newer status. An object that is
// gone is not created again.
func (w *Writer[T]) Write(ctx context.Context) error {
	after, err := json.Marshal(w.part(w.obj))
	if err != nil {
		return fmt.Errorf("marshalling status: %w", err)
	}
	if bytes.Equal(w.before, after) {
		return nil
	}
	err = w.retry(ctx, func() error { return w.apply(ctx, after) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing status of %T %s: %w", w.obj, client.ObjectKeyFromObject(w.obj), err)
	}
	w.before = after
	return nil
}

// AddFinalizer adds the finalizer to the object, in the cluster and in memory: the
// reconcile goes on with the resourceVersion that it wrote.
func (w *Writer[T]) AddFinalizer(ctx context.Context, finalizer string) error {
	if controllerutil.ContainsFinalizer(w.obj, finalizer) {
		return nil
	}
	return w.retry(ctx, func() error {
		return patchFinalizers(ctx, w.client, w.obj, controllerutil.AddFinalizer, "adding", finalizer)
	})
}

func (w *Writer[T]) apply(ctx context.Context, part []byte) error {
	u, err := identity(w.obj, w.client.Scheme())
	if err != nil {
		return err
	}
	var status map[string]any
	if err := json.Unmarshal(part, &status); err != nil {
		return fmt.Errorf("status is not a JSON object: %w", err)
	}
	u.Object["status"] = status
	if err := w.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(w.owner), client.ForceOwnership); err != nil {
		return err
	}
	w.obj.SetResourceVersion(u.GetResourceVersion())
	return nil
}

// attempts is how often a write is tried: each of a handful of writers may come
// first once.
const attempts = 5

// retry makes a write, and repeats it after a conflict with another part of the object.
func (w *Writer[T]) retry(ctx context.Context, write func() error) error {
	unlock, err := writers.lock(ctx, w.obj.GetUID())
	if err != nil {
		return err
	}
	defer unlock()
	err = w.catchUp(ctx, w.client)
	for attempt := 1; err == nil; attempt++ {
		if err = write(); err == nil {
			w.awaitCache(ctx)
			return nil
		}
		if attempt == attempts || !apierrors.IsConflict(err) {
			break
		}
		err = w.catchUp(ctx, w.live)
	}
	return err
}

// A cache lags by milliseconds. One that lags by more causes a conflict now and
// then, which is cheaper than waiting for it.
const cacheInterval, cacheTimeout = time.Millisecond, 250 * time.Millisecond

// awaitCache waits until the cache has the write: a reconcile that began with an
// older copy would be refused in the end.
func (w *Writer[T]) awaitCache(ctx context.Context) {
	_ = wait.PollUntilContextTimeout(ctx, cacheInterval, cacheTimeout, true, func(ctx context.Context) (bool, error) {
		_, newer, err := w.read(ctx, w.client)
		return newer >= 0, err
	})
}

// read returns the object as a reader has it, and whether that is newer than ours
// (1), the same (0), or older (-1).
func (w *Writer[T]) read(ctx context.Context, from client.Reader) (now T, newer int, err error) {
	now = newObject[T]()
	if err := from.Get(ctx, client.ObjectKeyFromObject(w.obj), now); err != nil {
		return now, 0, fmt.Errorf("reading what others have written: %w", err)
	}
	if newer, err = resourceversion.CompareResourceVersion(now.GetResourceVersion(), w.obj.GetResourceVersion()); err != nil {
		return now, 0, fmt.Errorf("comparing versions: %w", err)
	}
	return now, newer, nil
}

// catchUp takes over the resourceVersion that the object has by now. It returns a
// conflict if our part of the status is not what we know, or something else is
// desired. Finalizers come with the version: a later write of them must not
// remove one of another writer.
func (w *Writer[T]) catchUp(ctx context.Context, from client.Reader) error {
	now, newer, err := w.read(ctx, from)
	if apierrors.IsNotFound(err) {
		return w.conflict() // the next reconcile finds that the object is gone
	}
	if err != nil || newer <= 0 {
		return err
	}
	part, err := json.Marshal(w.part(now))
	if err != nil {
		return fmt.Errorf("marshalling status: %w", err)
	}
	if now.GetUID() != w.obj.GetUID() || now.GetGeneration() != w.obj.GetGeneration() ||
		!now.GetDeletionTimestamp().Equal(w.obj.GetDeletionTimestamp()) || !bytes.Equal(part, w.before) {
		return w.conflict()
	}
	w.obj.SetFinalizers(now.GetFinalizers())
	w.obj.SetResourceVersion(now.GetResourceVersion())
	return nil
}

func (w *Writer[T]) conflict() error {
	return apierrors.NewConflict(schema.GroupResource{}, w.obj.GetName(), errors.New("the object has changed since the reconcile began"))
}

// identity is kind, name, UID and resourceVersion of obj, nothing else.
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

func newObject[T client.Object]() T {
	var none T
	return reflect.New(reflect.TypeOf(none).Elem()).Interface().(T)
}
