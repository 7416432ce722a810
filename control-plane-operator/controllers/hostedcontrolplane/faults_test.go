package hostedcontrolplane

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/trial"
)

// A fault is what the API server answers instead, some times.
type fault struct {
	err           error
	reads, writes bool
	// late faults come when the write has taken effect.
	late  bool
	times int
}

func (f *fault) read(do func() error) error {
	if f.reads && f.strikes() {
		return f.err
	}
	return do()
}

func (f *fault) write(do func() error) error {
	if !f.writes || !f.strikes() {
		return do()
	}
	if f.late {
		return errors.Join(do(), f.err)
	}
	return f.err
}

func (f *fault) strikes() bool {
	f.times--
	return f.times >= 0
}

// client is c on a bad day.
func (f *fault) client(c client.Client) client.Client {
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return f.read(func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return f.read(func() error { return c.List(ctx, list, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return f.write(func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return f.write(func() error { return c.Apply(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return f.write(func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return f.write(func() error { return c.SubResource(sub).Apply(ctx, obj, opts...) })
		},
	})
}

func TestTrialUnderFaults(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	conflict := apierrors.NewConflict(services, "private-router", errors.New("the object has been modified"))
	timeout := apierrors.NewServerTimeout(services, "patch", 1)
	for name, f := range map[string]fault{
		"others write first, again and again":    {err: conflict, writes: true, times: 12},
		"the API server is slow":                 {err: timeout, reads: true, writes: true, times: 12},
		"the API server asks to come later":      {err: apierrors.NewTooManyRequestsError("busy"), reads: true, writes: true, times: 12},
		"the API server fails inside":            {err: apierrors.NewInternalError(errors.New("etcd")), writes: true, times: 12},
		"the cache cannot be read":               {err: apierrors.NewInternalError(errors.New("etcd")), reads: true, times: 12},
		"a write takes effect, and nobody says":  {err: timeout, writes: true, late: true, times: 4},
		"a Role lets us write only after a time": {err: apierrors.NewForbidden(services, "private-router", errors.New("no")), writes: true, times: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worlds := map[*trial.Cluster]*world{}
			begin := func(t testing.TB) *trial.Story {
				w := newWorld(t, controlPlane(hyperv1.PublicAndPrivate, hyperv1.Route))
				worlds[w.Cluster] = w
				return w.story()
			}
			var struck *fault
			inject := func(s *trial.Story) {
				struck = worlds[s.Cluster].fault
				*struck = f
			}
			trial.Fault(t, begin, inject)
			if struck.times == f.times {
				t.Error("the API server never misbehaved")
			}
			trial.VanishUnder(t, begin, inject)
		})
	}
}
