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

const (
	// lifetime is how long contents stay in memory after they were read. The start of a control plane takes less.
	lifetime = 5 * time.Minute
	// maxSize is the size of the largest contents that stay in memory, in bytes. Pull secrets, keys and most bundles are smaller. A tenant
	// may have many objects of 1 MiB, which would fill the memory of the operator.
	maxSize = 64 << 10
)

// A Reader is a client.Reader whose Get returns Secrets and ConfigMaps from memory if their version is the current one. Other objects,
// lists, and objects that the watch does not report are read from the API server.
//
// The result is as old as the watch: a caller that the same watch notifies sees each change, later than the change by the delay of the
// watch. A caller that overwrites something because of the result must read from the API server.
type Reader struct {
	client.Reader
	versions client.Reader
	clock    clock.WithDelayedExecution

	mu     sync.Mutex
	memory map[object]remembered
}

// object identifies an object. Only one version of it is in memory: a tenant may write new ones all the time.
type object struct {
	kind string
	key  client.ObjectKey
}

// remembered is an object with its version.
type remembered struct {
	version version
	obj     client.Object
}

// version identifies a version of all objects.
type version struct {
	uid             types.UID
	resourceVersion string
}

// New returns a Reader. live reads from the API server; versions is the cache of a watch, and may have metadata only.
func New(live, versions client.Reader, c clock.WithDelayedExecution) *Reader {
	return &Reader{Reader: live, versions: versions, clock: c, memory: map[object]remembered{}}
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
	id := object{kind, key}
	if r.recall(id, versionOf(current), into) {
		return nil
	}
	if err := r.Reader.Get(ctx, key, into); err != nil {
		return err
	}
	r.remember(id, into)
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

func versionOf(obj client.Object) version {
	return version{uid: obj.GetUID(), resourceVersion: obj.GetResourceVersion()}
}

// recall copies the contents of a version, and reports whether they are in memory. Callers may change what they get.
func (r *Reader) recall(id object, current version, into client.Object) bool {
	r.mu.Lock()
	found, ok := r.memory[id]
	r.mu.Unlock()
	if !ok || found.version != current {
		return false
	}
	switch found := found.obj.(type) {
	case *corev1.Secret:
		found.DeepCopyInto(into.(*corev1.Secret)) //nolint:forcetypeassert // id has the kind
	case *corev1.ConfigMap:
		found.DeepCopyInto(into.(*corev1.ConfigMap)) //nolint:forcetypeassert // as above
	}
	return true
}

// remember keeps a version for its lifetime, or until there is another one.
func (r *Reader) remember(id object, obj client.Object) {
	now := versionOf(obj)
	if now.uid == "" || now.resourceVersion == "" || size(obj) > maxSize {
		return
	}
	kept, _ := obj.DeepCopyObject().(client.Object)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory[id].version == now {
		return // another caller read it at the same time
	}
	r.memory[id] = remembered{now, kept}
	// It refers to the version, not to the contents, which another version may have replaced.
	r.clock.AfterFunc(lifetime, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.memory[id].version == now {
			delete(r.memory, id)
		}
	})
}

// size is the size of the contents, in bytes.
func size(obj client.Object) (n int) {
	switch obj := obj.(type) {
	case *corev1.Secret:
		for _, value := range obj.Data {
			n += len(value)
		}
	case *corev1.ConfigMap:
		for _, value := range obj.Data {
			n += len(value)
		}
		for _, value := range obj.BinaryData {
			n += len(value)
		}
	}
	return n
}
