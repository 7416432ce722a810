package patch_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/patch"
	"github.com/hosted-control-planes/hypershift/test/trial"
)

// world is a fake API server with one AWSEndpointService, which counts writes of its status.
type world struct {
	client.Client
	writes int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{}
	c := fake.NewClientBuilder().WithScheme(scheme).
		WithTypeConverters(trial.Converter("../../config/crd"), managedfields.NewDeducedTypeConverter()).
		WithStatusSubresource(&hyperv1.AWSEndpointService{}).
		WithObjects(&hyperv1.AWSEndpointService{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "private-router", UID: "uid-1"},
			Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: "a1"},
		}).Build()
	w.Client = interceptor.NewClient(c, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			w.writes++
			return c.SubResource(sub).Apply(ctx, obj, opts...)
		},
	})
	return w
}

func (w *world) read(t *testing.T) *hyperv1.AWSEndpointService {
	t.Helper()
	es := &hyperv1.AWSEndpointService{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "private-router"}, es); err != nil {
		t.Fatal(err)
	}
	return es
}

func providersHalf(es *hyperv1.AWSEndpointService) any {
	return hyperv1.AWSEndpointServiceStatus{EndpointServiceName: es.Status.EndpointServiceName}
}

func customersHalf(es *hyperv1.AWSEndpointService) any {
	return hyperv1.AWSEndpointServiceStatus{EndpointID: es.Status.EndpointID}
}

func TestTwoWritersShareOneStatus(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := patch.New(w.Client, es, "provider", providersHalf)
	es.Status.EndpointServiceName = "service"
	mustClose(t, p)

	es = w.read(t)
	c := patch.New(w.Client, es, "customer", customersHalf)
	es.Status.EndpointID = "vpce-1"
	mustClose(t, c)

	if got := w.read(t).Status; got.EndpointServiceName != "service" || got.EndpointID != "vpce-1" {
		t.Errorf("a half is lost: %+v", got)
	}

	es = w.read(t)
	c = patch.New(w.Client, es, "customer", customersHalf)
	es.Status.EndpointID = ""
	mustClose(t, c)
	if got := w.read(t).Status; got.EndpointServiceName != "service" || got.EndpointID != "" {
		t.Errorf("only the customer's half was given up: %+v", got)
	}
}

func TestWhatDidNotChangeIsNotWritten(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := patch.New(w.Client, es, "provider", providersHalf)
	es.Status.EndpointID = "not this writer's business"
	mustClose(t, p)
	es.Status.EndpointServiceName = "service"
	mustClose(t, p)
	mustClose(t, p)
	if w.writes != 1 {
		t.Errorf("%d writes, want 1", w.writes)
	}
}

func TestAnOldCopyIsAConflict(t *testing.T) {
	w := newWorld(t)
	stale, fresh := w.read(t), w.read(t)
	p := patch.New(w.Client, fresh, "provider", providersHalf)
	fresh.Status.EndpointServiceName = "service"
	mustClose(t, p)

	p = patch.New(w.Client, stale, "provider", providersHalf)
	stale.Status.EndpointServiceName = "older"
	if err := p.Close(t.Context()); !apierrors.IsConflict(err) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if got := w.read(t).Status.EndpointServiceName; got != "service" {
		t.Errorf("the older status won: %s", got)
	}
}

func TestAStatusDoesNotBringAnObjectBack(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := patch.New(w.Client, es, "provider", providersHalf)
	es.Status.EndpointServiceName = "service"
	if err := w.Delete(t.Context(), w.read(t)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil && !apierrors.IsConflict(err) {
		t.Errorf("got %v: the repeat after a conflict finds that the object is gone", err)
	}
	list := &hyperv1.AWSEndpointServiceList{}
	if err := w.List(t.Context(), list); err != nil || len(list.Items) != 0 {
		t.Errorf("the object came back: %v %v", list.Items, err)
	}
}

func TestFinalizersKeepWhatThePassHasLearned(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	es.Status.EndpointID = "vpce-1" // learned in this pass, not written yet
	if err := patch.AddFinalizer(t.Context(), w.Client, es, "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if es.Status.EndpointID == "" {
		t.Error("adding a finalizer has overwritten the status in memory")
	}
	if err := patch.AddFinalizer(t.Context(), w.Client, es, "example.com/b"); err != nil {
		t.Fatalf("the pass cannot go on with the object: %v", err)
	}
	if err := patch.RemoveFinalizer(t.Context(), w.Client, es, "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if got := w.read(t).Finalizers; len(got) != 1 || got[0] != "example.com/b" {
		t.Errorf("finalizers %v, want b only", got)
	}
}

func TestAFinalizerOfAnOldCopyIsAConflict(t *testing.T) {
	w := newWorld(t)
	stale, fresh := w.read(t), w.read(t)
	if err := patch.AddFinalizer(t.Context(), w.Client, fresh, "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if err := patch.AddFinalizer(t.Context(), w.Client, stale, "example.com/b"); !apierrors.IsConflict(err) {
		t.Fatalf("got %v: the other's finalizer would be lost", err)
	}
}

// A finalizer that was added after the deleter has looked: as of a real API server,
// it may go with the object unless the deletion is of the object as it was seen.
func TestDeletionIsOfWhatWasSeen(t *testing.T) {
	w := newWorld(t)
	stale, fresh := w.read(t), w.read(t)
	if err := patch.AddFinalizer(t.Context(), w.Client, fresh, "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if err := patch.Delete(t.Context(), w.Client, stale); !apierrors.IsConflict(err) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if !w.read(t).DeletionTimestamp.IsZero() {
		t.Error("it was asked to go")
	}
	for range 2 { // the second time it is going already
		if err := patch.Delete(t.Context(), w.Client, w.read(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := patch.RemoveFinalizer(t.Context(), w.Client, w.read(t), "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if err := patch.Delete(t.Context(), w.Client, fresh); err != nil {
		t.Errorf("got %v of what is gone", err)
	}
}

func TestRemovingAFinalizerFromWhatIsGone(t *testing.T) {
	w := newWorld(t)
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gone", Finalizers: []string{"example.com/a"}}}
	if err := patch.RemoveFinalizer(t.Context(), w.Client, gone, "example.com/a"); err != nil {
		t.Errorf("got %v", err)
	}
}

func mustClose(t *testing.T, p interface{ Close(context.Context) error }) {
	t.Helper()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
