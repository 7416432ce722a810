package apply_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// countingClient is a fake API server that counts writes.
type countingClient struct {
	client.Client
	writes int
}

func newCountingClient(objs ...client.Object) *countingClient {
	counting := &countingClient{}
	var mu sync.Mutex
	count := func(err error) error {
		mu.Lock()
		defer mu.Unlock()
		counting.writes++
		return err
	}
	counting.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objs...).Build(), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return count(c.Apply(ctx, obj, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return count(c.Delete(ctx, obj, opts...))
		},
	})
	return counting
}

var set = apply.Set{Name: "test", Namespace: "ns", Kinds: []client.ObjectList{&corev1.ServiceList{}, &corev1.ConfigMapList{}}}

func service(name string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "https", Port: port, TargetPort: intstr.FromString("https")}},
		},
	}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Data: data}
}

func mustApply(t *testing.T, counting *countingClient, objs ...client.Object) (writes int) {
	t.Helper()
	before := counting.writes
	if _, err := apply.New(counting, clientgoscheme.Scheme, "tester").Apply(t.Context(), set, objs...); err != nil {
		t.Fatal(err)
	}
	return counting.writes - before
}

func get[T client.Object](t *testing.T, counting *countingClient, name string, into T) T {
	t.Helper()
	if err := counting.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestApplyWritesOnlyWhatDiffers(t *testing.T) {
	counting := newCountingClient()
	if n := mustApply(t, counting, service("a", 443), configMap("b", map[string]string{"k": "v"})); n != 2 {
		t.Errorf("%d writes to create two objects", n)
	}
	if n := mustApply(t, counting, service("a", 443), configMap("b", map[string]string{"k": "v"})); n != 0 {
		t.Errorf("%d writes although nothing differs", n)
	}
	if n := mustApply(t, counting, service("a", 6443), configMap("b", map[string]string{"k": "v"})); n != 1 {
		t.Errorf("%d writes to change one port", n)
	}
}

func TestApplyEachReturnsTheObjectsThatItWrote(t *testing.T) {
	counting := newCountingClient()
	a := apply.New(counting, clientgoscheme.Scheme, "tester")
	names := func(objs ...client.Object) (all []string, pruned bool) {
		t.Helper()
		written, pruned, err := a.ApplyEach(t.Context(), set, objs...)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range written {
			all = append(all, obj.GetName())
		}
		return all, pruned
	}
	if got, pruned := names(service("a", 443), configMap("b", nil)); !slices.Equal(got, []string{"a", "b"}) || pruned {
		t.Errorf("at first %q, pruned %v", got, pruned)
	}
	if got, pruned := names(service("a", 443), configMap("b", map[string]string{"k": "v"})); !slices.Equal(got, []string{"b"}) || pruned {
		t.Errorf("after a change of b %q, pruned %v", got, pruned)
	}
	if got, pruned := names(service("a", 443)); len(got) > 0 || !pruned {
		t.Errorf("without b %q, pruned %v", got, pruned)
	}
}

func TestApplyRevertsChangesOfOtherWriters(t *testing.T) {
	counting := newCountingClient()
	mustApply(t, counting, configMap("b", map[string]string{"k": "v"}))
	live := get(t, counting, "b", &corev1.ConfigMap{})
	live.Data["k"] = "drifted"
	live.Data["theirs"] = "kept"
	if err := counting.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	mustApply(t, counting, configMap("b", map[string]string{"k": "v"}))
	if got := get(t, counting, "b", &corev1.ConfigMap{}).Data; got["k"] != "v" || got["theirs"] != "kept" {
		t.Errorf("got %v", got)
	}
	if n := mustApply(t, counting, configMap("b", map[string]string{"k": "v"})); n != 0 {
		t.Errorf("%d writes because of what others added", n)
	}
}

// The type of a Route's weight writes null for an unset weight. The API server sets a default for it.
func TestUnsetFieldsAreLeftToTheDefault(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := routev1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	route := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"},
		Spec:       routev1.RouteSpec{Host: "a.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "a"}},
	}
	set := apply.Set{Name: "test", Namespace: "ns", Kinds: []client.ObjectList{&routev1.RouteList{}}}
	pass := func() bool {
		t.Helper()
		wrote, err := apply.New(c, scheme, "tester").Apply(t.Context(), set, route.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		return wrote
	}
	if !pass() {
		t.Fatal("it was not made")
	}
	live := &routev1.Route{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), live); err != nil {
		t.Fatal(err)
	}
	live.Spec.To.Weight = ptr.To[int32](100)
	if err := c.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if pass() {
		t.Error("it is written again because of a default")
	}
}

func TestApplyRemovesFieldsThatAreNoLongerSet(t *testing.T) {
	counting := newCountingClient()
	mustApply(t, counting, configMap("b", map[string]string{"k": "v", "old": "x"}))
	mustApply(t, counting, configMap("b", map[string]string{"k": "v"}))
	if got := get(t, counting, "b", &corev1.ConfigMap{}).Data; len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestApplyPrunesOnlyObjectsOfItsSet(t *testing.T) {
	theirs := configMap("theirs", nil)
	counting := newCountingClient(theirs)
	mustApply(t, counting, service("a", 443), configMap("b", nil))
	mustApply(t, counting, service("a", 443))
	if err := counting.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "b"}, &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("b is still there: %v", err)
	}
	get(t, counting, "theirs", &corev1.ConfigMap{})
}

func TestApplyDoesNotAdoptForeignObjects(t *testing.T) {
	counting := newCountingClient(configMap("b", map[string]string{"mine": "yes"}))
	_, err := apply.New(counting, clientgoscheme.Scheme, "tester").Apply(t.Context(), set, configMap("b", nil))
	var foreign *apply.ForeignError
	if !errors.As(err, &foreign) {
		t.Fatalf("got %v", err)
	}
	if got := get(t, counting, "b", &corev1.ConfigMap{}).Data["mine"]; got != "yes" {
		t.Error("somebody else's object was changed")
	}
}

func TestDeleteReportsWhenAllObjectsAreGone(t *testing.T) {
	counting := newCountingClient()
	held := configMap("b", nil)
	held.Finalizers = []string{"example.com/hold"}
	mustApply(t, counting, service("a", 443), held)
	a := apply.New(counting, clientgoscheme.Scheme, "tester")
	if gone, err := a.Delete(t.Context(), set); gone || err != nil {
		t.Fatalf("gone %v, %v while an object is held", gone, err)
	}
	live := get(t, counting, "b", &corev1.ConfigMap{})
	live.Finalizers = nil
	if err := counting.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if gone, err := a.Delete(t.Context(), set); !gone || err != nil {
		t.Errorf("gone %v, %v", gone, err)
	}
}

// A compared object is not compared again; an object that was changed since is.
func TestACachedComparisonDoesNotHideALaterChange(t *testing.T) {
	counting := newCountingClient()
	a := apply.New(counting, clientgoscheme.Scheme, "tester")
	pass := func(port int32) int {
		t.Helper()
		before := counting.writes
		if _, err := a.Apply(t.Context(), set, service("a", port)); err != nil {
			t.Fatal(err)
		}
		return counting.writes - before
	}
	for i, want := range []int{1, 0, 0} {
		if n := pass(443); n != want {
			t.Fatalf("%d writes in pass %d, want %d", n, i, want)
		}
	}
	drifted := get(t, counting, "a", &corev1.Service{})
	drifted.Spec.Ports[0].Port = 80
	if err := counting.Update(t.Context(), drifted); err != nil {
		t.Fatal(err)
	}
	if n := pass(443); n != 1 {
		t.Errorf("%d writes to repair what somebody changed", n)
	}
	pass(443)
	if n := pass(444); n != 1 {
		t.Errorf("%d writes for another wish", n)
	}
	pass(444)
	if err := counting.Client.Delete(t.Context(), drifted); err != nil {
		t.Fatal(err)
	}
	if n := pass(444); n != 1 {
		t.Errorf("%d writes to make again what was deleted", n)
	}
}

func TestSetsWithDifferentParentsDoNotPruneEachOther(t *testing.T) {
	parent := func(name string) *corev1.ConfigMap {
		p := configMap(name, nil)
		p.UID = types.UID("uid-" + name)
		return p
	}
	counting := newCountingClient()
	a := apply.New(counting, clientgoscheme.Scheme, "tester")
	first, second := set, set
	first.Parent, second.Parent = parent("first"), parent("second")
	for of, s := range map[string]apply.Set{"first": first, "second": second} {
		if _, err := a.Apply(t.Context(), s, configMap("of-"+of, nil)); err != nil {
			t.Fatal(err)
		}
	}
	get(t, counting, "of-first", &corev1.ConfigMap{})
	get(t, counting, "of-second", &corev1.ConfigMap{})
	_, err := a.Apply(t.Context(), first, configMap("of-first", nil), configMap("of-second", nil))
	var foreign *apply.ForeignError
	if !errors.As(err, &foreign) || foreign.Owner != "ConfigMap second" {
		t.Errorf("one took what belongs to the other: %v", err)
	}
}

// A failed object keeps back the objects after it, unless they do not need it.
func TestAFailureStopsOnlyDependentObjects(t *testing.T) {
	for name, c := range map[string]struct {
		independent bool
		want        int
	}{
		"objects that need each other": {false, 1},
		"objects that do not":          {true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			counting := newCountingClient(configMap("b", nil)) // of somebody else
			set := set
			set.Independent = c.independent
			changed, err := apply.New(counting, clientgoscheme.Scheme, "tester").Apply(t.Context(), set, configMap("a", nil), configMap("b", nil), configMap("c", nil))
			var foreign *apply.ForeignError
			if !errors.As(err, &foreign) || foreign.Name != "b" || !changed || counting.writes != c.want {
				t.Errorf("%d writes, changed %v, %v", counting.writes, changed, err)
			}
		})
	}
}

// A writer goes on with the cache, once the cache contains the written objects.
func TestAwaitWaitsBrieflyForTheCache(t *testing.T) {
	for name, tc := range map[string]struct {
		looks int // in which the cache is still empty
		want  bool
	}{
		"a cache that is there soon is waited for": {looks: 5, want: true},
		"one that stays behind is not":             {looks: 1 << 30, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			counting := newCountingClient()
			old := configMap("a", map[string]string{"key": "old"})
			mustApply(t, counting, old)
			before := get(t, counting, "a", &corev1.ConfigMap{})
			looks := 0
			cached := interceptor.NewClient(counting.Client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if looks++; looks <= tc.looks {
						before.DeepCopyInto(obj.(*corev1.ConfigMap))
						return nil
					}
					return c.Get(ctx, key, obj, opts...)
				},
			})
			a, wanted := apply.New(cached, clientgoscheme.Scheme, "tester"), configMap("a", map[string]string{"key": "new"})
			if changed, err := a.Apply(t.Context(), set, wanted); err != nil || !changed {
				t.Fatal(changed, err)
			}
			if got := a.Await(t.Context(), set, wanted); got != tc.want {
				t.Errorf("the cache has it: %v", got)
			}
		})
	}
}
