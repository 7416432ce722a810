package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// world is a fake API server with one AWSEndpointService, which counts writes of its status.
type world struct {
	client.Client
	writes atomic.Int32
}

func (w *world) count() int { return int(w.writes.Load()) }

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
		WithTypeConverters(crashtest.Converter("../../config/crd"), managedfields.NewDeducedTypeConverter()).
		WithStatusSubresource(&hyperv1.AWSEndpointService{}).WithReturnManagedFields().
		WithObjects(&hyperv1.AWSEndpointService{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "private-router", UID: "uid-1"},
			Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: "a1"},
		}).Build()
	w.Client = interceptor.NewClient(c, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			w.writes.Add(1)
			if err := c.SubResource(sub).Apply(ctx, obj, opts...); err != nil {
				return err
			}
			return answer(ctx, c, obj)
		},
	})
	return w
}

// answer copies the stored object into obj. An API server does so, the fake does not.
func answer(ctx context.Context, c client.Client, obj runtime.ApplyConfiguration) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, live); err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
		return err
	}
	owners := live.GetManagedFields() // the fake leaves out the subresource
	for i := range owners {
		if strings.Contains(owners[i].FieldsV1.GetRawString(), "f:status") {
			owners[i].Subresource = "status"
		}
	}
	live.SetManagedFields(owners)
	if text, err = json.Marshal(live); err != nil {
		return err
	}
	return json.Unmarshal(text, obj)
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
	p := reconcile.NewWriter(w.Client, w.Client, es, "provider", providersHalf)
	es.Status.EndpointServiceName = "service"
	mustWrite(t, p)

	es = w.read(t)
	c := reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf)
	es.Status.EndpointID = "vpce-1"
	mustWrite(t, c)

	if got := w.read(t).Status; got.EndpointServiceName != "service" || got.EndpointID != "vpce-1" {
		t.Errorf("a half is lost: %+v", got)
	}

	es = w.read(t)
	c = reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf)
	es.Status.EndpointID = ""
	mustWrite(t, c)
	if got := w.read(t).Status; got.EndpointServiceName != "service" || got.EndpointID != "" {
		t.Errorf("only the customer's half was given up: %+v", got)
	}
}

func TestAnUnchangedStatusIsNotWritten(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := reconcile.NewWriter(w.Client, w.Client, es, "provider", providersHalf)
	es.Status.EndpointID = "another writer's field"
	mustWrite(t, p)
	es.Status.EndpointServiceName = "service"
	mustWrite(t, p)
	mustWrite(t, p)
	if w.count() != 1 {
		t.Errorf("%d writes, want 1", w.count())
	}
}

func TestAStatusFromAnOldCopyIsAConflict(t *testing.T) {
	w := newWorld(t)
	stale, fresh := w.read(t), w.read(t)
	p := reconcile.NewWriter(w.Client, w.Client, fresh, "provider", providersHalf)
	fresh.Status.EndpointServiceName = "service"
	mustWrite(t, p)

	p = reconcile.NewWriter(w.Client, w.Client, stale, "provider", providersHalf)
	stale.Status.EndpointServiceName = "older"
	if err := p.Write(t.Context()); !apierrors.IsConflict(err) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if got := w.read(t).Status.EndpointServiceName; got != "service" {
		t.Errorf("the older status won: %s", got)
	}
}

func TestAStatusDoesNotCreateADeletedObject(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := reconcile.NewWriter(w.Client, w.Client, es, "provider", providersHalf)
	es.Status.EndpointServiceName = "service"
	if err := w.Delete(t.Context(), w.read(t)); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context()); err != nil && !apierrors.IsConflict(err) {
		t.Errorf("got %v: the repeat after a conflict finds that the object is gone", err)
	}
	list := &hyperv1.AWSEndpointServiceList{}
	if err := w.List(t.Context(), list); err != nil || len(list.Items) != 0 {
		t.Errorf("the object came back: %v %v", list.Items, err)
	}
}

// Another writer writes between our read and our write.
func TestAChangeOfAnotherPartIsNoConflict(t *testing.T) {
	w := newWorld(t)
	ours, theirs := w.read(t), w.read(t)
	c := reconcile.NewWriter(w.Client, w.Client, ours, "customer", customersHalf)
	p := reconcile.NewWriter(w.Client, w.Client, theirs, "provider", providersHalf)
	theirs.Status.EndpointServiceName = "service"
	mustWrite(t, p)
	theirs = w.read(t)
	theirs.Labels = map[string]string{"a": "b"}
	must(t, w.Update(t.Context(), theirs))
	for _, id := range []string{"vpce-1", "vpce-2"} {
		ours.Status.EndpointID = id
		mustWrite(t, c)
		if got := w.read(t).Status; got.EndpointServiceName != "service" || got.EndpointID != id {
			t.Errorf("a half is lost: %+v", got)
		}
	}
}

// The version that the cache has is taken over before the first attempt.
func TestAVersionInTheCacheIsNoConflict(t *testing.T) {
	for name, tc := range map[string]struct {
		behind bool
		writes int
	}{
		"the cache has what another one wrote":           {behind: false, writes: 1},
		"the cache does not have yet what another wrote": {behind: true, writes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ours, old := w.read(t), w.read(t)
			theirs := w.read(t)
			theirs.Labels = map[string]string{"a": "b"}
			must(t, w.Update(t.Context(), theirs))
			cached := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if tc.behind {
						old.DeepCopyInto(obj.(*hyperv1.AWSEndpointService))
						return nil
					}
					return c.Get(ctx, key, obj, opts...)
				},
			})
			p := reconcile.NewWriter(cached, w.Client, ours, "customer", customersHalf)
			ours.Status.EndpointID = "vpce-1"
			mustWrite(t, p)
			if w.count() != tc.writes {
				t.Errorf("%d writes, want %d", w.count(), tc.writes)
			}
		})
	}
}

func TestAChangeOfTheSpecIsAConflict(t *testing.T) {
	for name, meanwhile := range map[string]func(*testing.T, *world, *hyperv1.AWSEndpointService){
		"the spec has changed": func(t *testing.T, w *world, es *hyperv1.AWSEndpointService) {
			es.Generation++
			must(t, w.Update(t.Context(), es))
		},
		"it is being deleted": func(t *testing.T, w *world, es *hyperv1.AWSEndpointService) {
			es.Finalizers = []string{"example.com/hold"}
			must(t, w.Update(t.Context(), es))
			must(t, w.Delete(t.Context(), es))
		},
		"it was deleted and made anew": func(t *testing.T, w *world, es *hyperv1.AWSEndpointService) {
			must(t, w.Delete(t.Context(), es))
			must(t, w.Create(t.Context(), &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: es.Namespace, Name: es.Name, UID: "uid-2"}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			es := w.read(t)
			p := reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf)
			meanwhile(t, w, w.read(t))
			es.Status.EndpointID = "vpce-1"
			if err := p.Write(t.Context()); !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			if got := w.read(t).Status.EndpointID; got != "" {
				t.Errorf("it was written: %s", got)
			}
		})
	}
}

// A writer that writes all the time does not occupy a worker for ever.
func TestTheNumberOfAttemptsIsLimited(t *testing.T) {
	w := newWorld(t)
	restless := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			other := w.read(t)
			other.Labels = map[string]string{"writes": strconv.Itoa(w.count())}
			must(t, w.Update(ctx, other))
			return c.SubResource(sub).Apply(ctx, obj, opts...)
		},
	})
	es := w.read(t)
	p := reconcile.NewWriter(restless, w.Client, es, "customer", customersHalf)
	es.Status.EndpointID = "vpce-1"
	if err := p.Write(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if w.count() < 2 {
		t.Error("it was tried once only")
	}
}

func TestAddingAFinalizerKeepsTheStatusInMemory(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf)
	es.Status.EndpointID = "vpce-1" // learned in this pass, not written yet
	must(t, p.AddFinalizer(t.Context(), "example.com/a"))
	if es.Status.EndpointID == "" {
		t.Error("adding a finalizer has overwritten the status in memory")
	}
	if err := p.AddFinalizer(t.Context(), "example.com/b"); err != nil {
		t.Fatalf("the pass cannot go on with the object: %v", err)
	}
	must(t, reconcile.RemoveFinalizer(t.Context(), w.Client, es, "example.com/a"))
	if got := w.read(t).Finalizers; len(got) != 1 || got[0] != "example.com/b" {
		t.Errorf("finalizers %v, want b only", got)
	}
}

func TestFinalizersOfSeveralWriters(t *testing.T) {
	w := newWorld(t)
	ours, theirs := w.read(t), w.read(t)
	c := reconcile.NewWriter(w.Client, w.Client, ours, "customer", customersHalf)
	p := reconcile.NewWriter(w.Client, w.Client, theirs, "provider", providersHalf)
	must(t, p.AddFinalizer(t.Context(), "example.com/provider"))
	must(t, c.AddFinalizer(t.Context(), "example.com/customer"))
	must(t, p.AddFinalizer(t.Context(), "example.com/second"))
	theirs.Status.EndpointServiceName = "service"
	mustWrite(t, p)
	ours.Status.EndpointID = "vpce-1"
	mustWrite(t, c) // catches up
	must(t, c.AddFinalizer(t.Context(), "example.com/third"))
	want := []string{"example.com/provider", "example.com/customer", "example.com/second", "example.com/third"}
	if got := w.read(t).Finalizers; !slices.Equal(got, want) {
		t.Errorf("finalizers %v, want %v", got, want)
	}
}

// Controllers that start with a new object add their finalizers with one write.
func TestDeclaredFinalizersAreAddedTogether(t *testing.T) {
	w := newWorld(t)
	s := newStore(w.Client, w.Client)
	s.Finalizer("example.com/a", func(*hyperv1.AWSEndpointService) bool { return true })
	s.Finalizer("example.com/b", func(es *hyperv1.AWSEndpointService) bool { return es.Name != "" })
	s.Finalizer("example.com/unneeded", func(es *hyperv1.AWSEndpointService) bool { return es.Name == "" })
	a, b := s.Part(conditionPart("A")).Writer(w.read(t)), s.Part(conditionPart("B")).Writer(w.read(t))
	before := w.read(t).ResourceVersion
	must(t, b.AddFinalizer(t.Context(), "example.com/b"))
	written := w.read(t)
	if got, want := written.Finalizers, []string{"example.com/b", "example.com/a"}; !slices.Equal(got, want) || written.ResourceVersion == before {
		t.Errorf("the object has %q, want %q", got, want)
	}
	must(t, a.AddFinalizer(t.Context(), "example.com/a"))
	if got := w.read(t); got.ResourceVersion != written.ResourceVersion {
		t.Errorf("the second controller has written the object again: %q", got.Finalizers)
	}
}

// Otherwise a status written after the finalizer would replace the recorded status.
func TestAFinalizerOverAnOldStatusIsAConflict(t *testing.T) {
	w := newWorld(t)
	stale, fresh := w.read(t), w.read(t)
	old := reconcile.NewWriter(w.Client, w.Client, stale, "customer", customersHalf)
	c := reconcile.NewWriter(w.Client, w.Client, fresh, "customer", customersHalf)
	fresh.Status.EndpointID = "vpce-1"
	mustWrite(t, c)
	if err := old.AddFinalizer(t.Context(), "example.com/a"); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// Otherwise a reconcile that has deleted everything would be repeated because another program has written its own part.
func TestRemovingAFinalizerGoesOnWithTheStatusOfOthers(t *testing.T) {
	w := newWorld(t)
	theirs := w.read(t)
	p := reconcile.NewWriter(w.Client, w.Client, theirs, "provider", providersHalf)
	must(t, p.AddFinalizer(t.Context(), "example.com/provider"))
	must(t, p.AddFinalizer(t.Context(), "example.com/customer"))
	ours, old := w.read(t), w.read(t)
	c := reconcile.NewWriter(w.Client, w.Client, ours, "customer", customersHalf)
	stale := reconcile.NewWriter(w.Client, w.Client, old, "customer", customersHalf)
	theirs.Status.EndpointServiceName = "service"
	mustWrite(t, p)
	must(t, c.RemoveFinalizer(t.Context(), "example.com/customer"))
	if got := w.read(t).Finalizers; !slices.Equal(got, []string{"example.com/provider"}) {
		t.Errorf("finalizers %v, want that of the provider", got)
	}
	ours.Status.EndpointID = "vpce-1"
	mustWrite(t, c)
	if err := stale.RemoveFinalizer(t.Context(), "example.com/customer"); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict: our own part has changed", err)
	}
	must(t, p.RemoveFinalizer(t.Context(), "example.com/provider"))
	if got := w.read(t).Finalizers; len(got) > 0 {
		t.Errorf("finalizers %v, want none", got)
	}
}

func TestAFinalizerOfAnObjectThatHasChangedStays(t *testing.T) {
	const own = "example.com/own"
	for name, change := range map[string]func(w *world, es *hyperv1.AWSEndpointService) error{
		"the spec changes": func(w *world, es *hyperv1.AWSEndpointService) error {
			es.Generation++
			return w.Client.Update(t.Context(), es)
		},
		"a deletion begins": func(w *world, es *hyperv1.AWSEndpointService) error { return w.Client.Delete(t.Context(), es) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			es := w.read(t)
			p := reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf)
			must(t, p.AddFinalizer(t.Context(), own))
			p = reconcile.NewWriter(w.Client, w.Client, w.read(t), "customer", customersHalf)
			must(t, change(w, w.read(t)))
			if err := p.RemoveFinalizer(t.Context(), own); !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			if got := w.read(t).Finalizers; !slices.Equal(got, []string{own}) {
				t.Errorf("finalizers %v", got)
			}
		})
	}
}

func TestRemovingTheFinalizerOfAnObjectThatIsGone(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	must(t, reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf).AddFinalizer(t.Context(), "example.com/own"))
	live := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "awsendpointservices"}, es.Name)
	}})
	if err := reconcile.NewWriter(live, live, w.read(t), "customer", customersHalf).RemoveFinalizer(t.Context(), "example.com/own"); err != nil {
		t.Errorf("the API server does not have it any more: %v", err)
	}
	old := w.read(t)
	must(t, reconcile.RemoveFinalizer(t.Context(), w.Client, w.read(t), "example.com/own"))
	must(t, w.Client.Delete(t.Context(), w.read(t)))
	if err := reconcile.NewWriter(w.Client, w.Client, old, "customer", customersHalf).RemoveFinalizer(t.Context(), "example.com/own"); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict: the next reconcile finds out that it is gone", err)
	}
}

func TestRemovingAFinalizerOfAnOldCopyIsAConflict(t *testing.T) {
	w := newWorld(t)
	es := w.read(t)
	p := reconcile.NewWriter(w.Client, w.Client, es, "customer", customersHalf)
	must(t, p.AddFinalizer(t.Context(), "example.com/a"))
	stale := w.read(t)
	must(t, p.AddFinalizer(t.Context(), "example.com/b"))
	if err := reconcile.RemoveFinalizer(t.Context(), w.Client, stale, "example.com/a"); !apierrors.IsConflict(err) {
		t.Errorf("got %v: the other's finalizer would be lost", err)
	}
}

// A finalizer is added after the object was read. On a real API server it may go with
// the object, unless the deletion carries the resourceVersion as a precondition.
func TestDeletionOfAnOldCopyWaitsForTheNewOne(t *testing.T) {
	w := newWorld(t)
	stale, fresh := w.read(t), w.read(t)
	must(t, reconcile.NewWriter(w.Client, w.Client, fresh, "customer", customersHalf).AddFinalizer(t.Context(), "example.com/a"))
	wait := &reconcile.Waiting{}
	if err := reconcile.Delete(t.Context(), w.Client, stale); !errors.As(err, &wait) || wait.After == 0 || wait.Reason != "Conflict" || strings.Contains(wait.Message, "*") {
		t.Fatalf("got %#v, want a wait for the object that others have changed", err)
	}
	if !w.read(t).DeletionTimestamp.IsZero() {
		t.Error("it was asked to go")
	}
	for range 2 { // the second time it is going already
		if err := reconcile.Delete(t.Context(), w.Client, w.read(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := reconcile.RemoveFinalizer(t.Context(), w.Client, w.read(t), "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if err := reconcile.Delete(t.Context(), w.Client, fresh); err != nil {
		t.Errorf("got %v of what is gone", err)
	}
}

func TestRemovingAFinalizerFromADeletedObject(t *testing.T) {
	w := newWorld(t)
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gone", Finalizers: []string{"example.com/a"}}}
	if err := reconcile.RemoveFinalizer(t.Context(), w.Client, gone, "example.com/a"); err != nil {
		t.Errorf("got %v", err)
	}
}

func mustWrite(t *testing.T, p interface{ Write(context.Context) error }) {
	t.Helper()
	must(t, p.Write(t.Context()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
