package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// writes counts the writes of a manager's client and reports them.
type writes struct {
	// status is called with every status that is about to be applied; may be nil.
	status func(obj runtime.ApplyConfiguration)

	mu sync.Mutex
	written
}

// written are the writes so far.
type written struct {
	N, Refused int
	Last       time.Time
	Waited     time.Duration // total time of all responses
	// ByKind are the writes of each resource and subresource.
	ByKind map[string]int
}

func (w *writes) soFar() written {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.written
	now.ByKind = maps.Clone(now.ByKind)
	return now
}

// silence waits until no object has been written for a moment.
func (w *writes) silence(ctx context.Context) error {
	return w.silentFor(ctx, 4*time.Second, patience)
}

// silentFor waits until no object has been written for some time.
func (w *writes) silentFor(ctx context.Context, while, patience time.Duration) error {
	began := time.Now()
	return until(ctx, patience, func(context.Context) (bool, error) {
		return time.Since(began) > while && time.Since(w.soFar().Last) > while, nil
	})
}

// write makes a write and counts it as one of a kind.
func (w *writes) write(kind string, do func() error) error {
	began := time.Now()
	err := do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.N++
	if w.ByKind == nil {
		w.ByKind = map[string]int{}
	}
	w.ByKind[kind]++
	w.Last = time.Now()
	w.Waited += w.Last.Sub(began)
	if err != nil {
		w.Refused++
	}
	return err
}

// newClient returns the manager's client.
func (w *writes) newClient(cfg *rest.Config, opts client.Options) (client.Client, error) {
	c, err := client.NewWithWatch(cfg, opts)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return w.write(kindOf(obj, c), func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return w.write(kindOf(obj, c), func() error { return c.Delete(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return w.write(kindOf(obj, c), func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return w.write(kindOf(obj, c), func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return w.write(appliedKind(obj), func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if w.status != nil {
				w.status(obj)
			}
			return w.write(appliedKind(obj)+"/"+sub, func() error { return c.SubResource(sub).Apply(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.write(kindOf(obj, c)+"/"+sub, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	}), nil
}

// secretReads counts the requests for one Secret each, by all clients of a configuration.
type secretReads struct{ atomic.Int64 }

// count adds the counter to the configuration.
func (r *secretReads) count(cfg *rest.Config) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if parent, name := path.Split(req.URL.Path); req.Method == http.MethodGet && name != "" && path.Base(parent) == "secrets" {
				r.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// kindOf is the kind of an object, empty if the scheme does not know it.
func kindOf(obj client.Object, c client.Client) string {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return ""
	}
	return gvk.Kind
}

// appliedKind is the kind of an object that is applied. The operators apply unstructured ones.
func appliedKind(obj runtime.ApplyConfiguration) string {
	if o, ok := obj.(interface{ GetKind() string }); ok {
		return o.GetKind()
	}
	return fmt.Sprintf("%T", obj)
}
