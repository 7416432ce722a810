// Package contents reads each version of a Secret or ConfigMap from the API server once.
//
//	watch of metadata ─ resourceVersion ─► contents of this version in memory ─► caller
//	                                   └─ none ─► API server, and into memory
//
// A watch of contents would keep the Secrets of all tenants in the memory of the operator. This package keeps what was read, for a few
// minutes: while a cluster starts or changes, each of its reconciles needs the same contents. At rest there are few reconciles, and hardly
// any contents are in memory.
package contents

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lifetime is how long contents stay in memory after they were read. The start of a control plane takes less.
const lifetime = 5 * time.Minute

// A Reader is a client.Reader whose Get returns Secrets and ConfigMaps from memory if their version is the current one. Other objects,
// lists, and objects that the watch does not report are read from the API server.
//
// The result is as old as the watch: a caller that the same watch notifies sees each change, later than the change by the delay of the
// watch. Who decides by the result whether to overwrite something must read from the API server.
type Reader struct {
	client.Reader
	versions client.Reader
	clock    clock.WithDelayedExecution

	mu     sync.Mutex
	memory map[object]client.Object
}

// object identifies a version of an object.
type object struct {
	uid     types.UID
	version string
}

// New returns a Reader. live reads from the API server; versions is the cache of a watch, and may have metadata only.
func New(live, versions client.Reader, c clock.WithDelayedExecution) *Reader {
	return &Reader{Reader: live, versions: versions, clock: c, memory: map[object]client.Object{}}
}

// Get reads an object. The errors are those of the API server.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	kind, ok := kindOf(into)
	if !ok || len(opts) > 0 {
		return r.Reader.Get(ctx, key, into, opts...)
	}
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	err := r.versions.Get(ctx, key, current)
	switch {
	case apierrors.IsNotFound(err): // perhaps it is newer than the watch
		return r.Reader.Get(ctx, key, into)
	case err != nil:
		return fmt.Errorf("getting the version of %s %s: %w", kind, key, err)
	}
	if r.recall(current, into) {
		return nil
	}
	if err := r.Reader.Get(ctx, key, into); err != nil {
		return err
	}
	r.remember(into)
	return nil
}

func kindOf(obj client.Object) (kind string, ok bool) {
	switch obj.(type) {
	case *corev1.Secret:
		return "Secret", true
	case *corev1.ConfigMap:
		return "ConfigMap", true
	}
	return "", false
}

func versionOf(obj client.Object) object {
	return object{uid: obj.GetUID(), version: obj.GetResourceVersion()}
}

// recall copies the contents of a version, and reports whether they are in memory. Callers may change what they get.
func (r *Reader) recall(current, into client.Object) bool {
	r.mu.Lock()
	found := r.memory[versionOf(current)]
	r.mu.Unlock()
	switch found := found.(type) {
	case *corev1.Secret:
		found.DeepCopyInto(into.(*corev1.Secret)) //nolint:forcetypeassert // a UID has one kind
	case *corev1.ConfigMap:
		found.DeepCopyInto(into.(*corev1.ConfigMap)) //nolint:forcetypeassert // as above
	default:
		return false
	}
	return true
}

// remember keeps a version for its lifetime.
func (r *Reader) remember(obj client.Object) {
	id := versionOf(obj)
	if id.uid == "" || id.version == "" {
		return
	}
	kept, _ := obj.DeepCopyObject().(client.Object)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.memory[id]; ok {
		return // another caller read it at the same time
	}
	r.memory[id] = kept
	r.clock.AfterFunc(lifetime, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.memory, id)
	})
}
