package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// writes counts what a manager's client writes and lets others see it.
type writes struct {
	// status is told of every status that is about to be applied; may be nil.
	status func(obj runtime.ApplyConfiguration)

	mu   sync.Mutex
	n    int
	last time.Time
}

// silence waits until nothing has been written for a while and returns.
func (w *writes) silence(ctx context.Context) error {
	const while = 4 * time.Second
	began := time.Now()
	return until(ctx, patience, func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return time.Since(began) > while && time.Since(w.last) > while, nil
	})
}

func (w *writes) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

func (w *writes) one() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	w.last = time.Now()
}

// newClient makes the manager's client.
func (w *writes) newClient(cfg *rest.Config, opts client.Options) (client.Client, error) {
	c, err := client.NewWithWatch(cfg, opts)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.one()
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			w.one()
			return c.Delete(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			w.one()
			return c.Update(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			w.one()
			return c.Patch(ctx, obj, patch, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			w.one()
			return c.Apply(ctx, obj, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			w.one()
			if w.status != nil {
				w.status(obj)
			}
			return c.SubResource(sub).Apply(ctx, obj, opts...)
		},
	}), nil
}
