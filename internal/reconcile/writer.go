package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A Writer writes the results of one reconcile about its object: its part of the status, and its finalizers. It writes only differences.
type Writer[T client.Object] struct {
	part   *Part[T]
	obj    T
	before []byte
}

// Writer remembers the part of the status of obj as it is now.
func (p *Part[T]) Writer(obj T) *Writer[T] {
	w := &Writer[T]{part: p, obj: obj}
	// A value that does not marshal now does not marshal in Write either, which returns the error.
	w.before, _ = json.Marshal(p.fields(obj))
	return w
}

// NewWriter returns a Writer with a Store of its own. It is the only part of that Store.
func NewWriter[T client.Object](c client.Client, live client.Reader, obj T, owner string, part func(T) any) *Writer[T] {
	return NewStore[T](c, live, owner).Part(part).Writer(obj)
}

// Write writes our part of the status if it differs from the last write, or if a condition that the
// Store derives from the status is outdated. It returns when it is stored. The write carries the
// resourceVersion that the reconcile began with, or a newer one if neither our part nor the desired
// state has changed since. Otherwise Write returns a conflict, so that a reconcile of an old copy
// never replaces a newer status. An object that is gone is not created again.
func (w *Writer[T]) Write(ctx context.Context) error { return w.write(ctx, 0) }

func (w *Writer[T]) write(ctx context.Context, gather time.Duration) error {
	after, err := w.after()
	if after == nil || err != nil {
		return err
	}
	return w.store(ctx, after, gather)
}

// writeAtEnd writes our part at the end of a reconcile. If the change can wait, and the
// status was written a moment ago, it does not write and returns when to reconcile again.
func (w *Writer[T]) writeAtEnd(ctx context.Context, urgent bool) (requeueAfter time.Duration, err error) {
	after, err := w.after()
	if after == nil || err != nil {
		return 0, err
	}
	if !urgent && w.obj.GetDeletionTimestamp().IsZero() && !w.part.urgent(w.before, after) && !w.part.store.derivedTurns(w.obj) {
		change := w.change(after)
		change.left = true
		if requeueAfter := w.part.store.postpone(change); requeueAfter > 0 {
			return requeueAfter, nil
		}
	}
	return 0, w.store(ctx, after, gathering)
}

// after returns our part as it is to be written; nil if it need not be written.
func (w *Writer[T]) after() ([]byte, error) {
	after, err := json.Marshal(w.part.fields(w.obj))
	if err != nil {
		return nil, fmt.Errorf("marshalling status: %w", err)
	}
	if bytes.Equal(w.before, after) && !w.part.store.outdated(w.obj) {
		return nil, nil
	}
	return after, nil
}

func (w *Writer[T]) store(ctx context.Context, after []byte, gather time.Duration) error {
	stored, err := w.part.store.write(ctx, w.change(after), gather)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing status of %T %s: %w", w.obj, client.ObjectKeyFromObject(w.obj), err)
	}
	w.takeVersion(stored)
	w.before = after
	return nil
}

// AddFinalizer adds the finalizer to the object, and those that the Store declares, in the
// cluster and in memory: the reconcile goes on with the resourceVersion that it wrote.
func (w *Writer[T]) AddFinalizer(ctx context.Context, finalizer string) error {
	if controllerutil.ContainsFinalizer(w.obj, finalizer) {
		return nil
	}
	return w.writeFinalizers(ctx, w.part.store.addFinalizers, "adding", finalizer)
}

// RemoveFinalizer removes the finalizer from the object, in the cluster and in memory. Like Write, it goes on with a newer version of the
// object if neither our part nor the desired state has changed since: another program that writes its own part does not cause a conflict,
// after which the whole reconcile is repeated. If the API server no longer has the object, its finalizer is removed. If it was gone before the
// write, RemoveFinalizer returns a conflict, as Write does.
func (w *Writer[T]) RemoveFinalizer(ctx context.Context, finalizer string) error {
	if !controllerutil.ContainsFinalizer(w.obj, finalizer) {
		return nil
	}
	err := w.writeFinalizers(ctx, controllerutil.RemoveFinalizer, "removing", finalizer)
	if apierrors.IsNotFound(err) {
		controllerutil.RemoveFinalizer(w.obj, finalizer)
		return nil
	}
	return err
}

func (w *Writer[T]) writeFinalizers(ctx context.Context, edit func(client.Object, string) bool, doing, finalizer string) error {
	stored, err := w.part.store.writeAlone(ctx, w.change(nil), func(ctx context.Context, base T, _ []*change[T]) (T, error) {
		changed := base.DeepCopyObject().(T)
		return changed, patchFinalizers(ctx, w.part.store.client, changed, edit, doing, finalizer)
	})
	if err != nil {
		return err
	}
	w.takeVersion(stored)
	return nil
}

func (w *Writer[T]) change(after []byte) *change[T] {
	return &change[T]{part: w.part, obj: w.obj.DeepCopyObject().(T), before: w.before, after: after, done: make(chan struct{})}
}

// takeVersion lets the reconcile go on with the stored object. Finalizers come with the version: a later write of them must not remove a
// finalizer of another controller.
func (w *Writer[T]) takeVersion(stored T) {
	w.obj.SetFinalizers(stored.GetFinalizers())
	w.obj.SetResourceVersion(stored.GetResourceVersion())
}
