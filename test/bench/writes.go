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
}

func (w *writes) soFar() written {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written
}

// silence waits until nothing has been written for a moment.
func (w *writes) silence(ctx context.Context) error {
	return w.silentFor(ctx, 4*time.Second, patience)
}

// silentFor waits until nothing has been written for some time.
func (w *writes) silentFor(ctx context.Context, while, patience time.Duration) error {
	began := time.Now()
	return until(ctx, patience, func(context.Context) (bool, error) {
		return time.Since(began) > while && time.Since(w.soFar().Last) > while, nil
	})
}

// write makes a write and counts it.
func (w *writes) write(do func() error) error {
	began := time.Now()
	err := do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.N++
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
			return w.write(func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return w.write(func() error { return c.Delete(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return w.write(func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return w.write(func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if w.status != nil {
				w.status(obj)
			}
			return w.write(func() error { return c.SubResource(sub).Apply(ctx, obj, opts...) })
		},
	}), nil
}
