package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

type (
	store  = reconcile.Store[*hyperv1.AWSEndpointService]
	part   = reconcile.Part[*hyperv1.AWSEndpointService]
	writer = reconcile.Writer[*hyperv1.AWSEndpointService]
)

// conditionPart is the part of a controller that writes one condition.
func conditionPart(conditionType string) func(*hyperv1.AWSEndpointService) any {
	return func(es *hyperv1.AWSEndpointService) any {
		part := hyperv1.AWSEndpointServiceStatus{}
		if c := meta.FindStatusCondition(es.Status.Conditions, conditionType); c != nil {
			part.Conditions = []metav1.Condition{*c}
		}
		return part
	}
}

// errorsByName are the results of writers that run at the same time.
type errorsByName struct {
	mu  sync.Mutex
	all map[string]error
}

func (e *errorsByName) set(name string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]error{}
	}
	e.all[name] = err
}

func (e *errorsByName) get(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[name]
}

// report sets a condition of an object and returns the writer that has to write it.
func report(p *part, es *hyperv1.AWSEndpointService, conditionType, message string) *writer {
	w := p.Writer(es)
	reconcile.SetCondition(&es.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Message: message}, start)
	return w
}

func newStore(c client.Client, live client.Reader) *store {
	return reconcile.NewStore[*hyperv1.AWSEndpointService](c, live, "status")
}

// apply returns a client that calls a function instead of applying a status. next applies it.
func (w *world) apply(instead func(ctx context.Context, obj runtime.ApplyConfiguration, next func() error) error) client.Client {
	return interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return instead(ctx, obj, func() error { return c.SubResource(sub).Apply(ctx, obj, opts...) })
		},
	})
}

// hold returns a client. Its first write of the status of an object of that name waits until release is closed or its context ends.
func (w *world) hold(name string, release <-chan struct{}) (c client.Client, inFlight <-chan struct{}) {
	first, started := sync.Once{}, make(chan struct{})
	return w.apply(func(ctx context.Context, obj runtime.ApplyConfiguration, next func() error) error {
		held := false
		if nameOf(obj) == name {
			first.Do(func() { held = true })
		}
		if held {
			close(started)
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return next()
	}), started
}

func nameOf(obj runtime.ApplyConfiguration) string {
	text, _ := json.Marshal(obj)
	var named metav1.PartialObjectMetadata
	_ = json.Unmarshal(text, &named)
	return named.Name
}

func (w *world) types(t *testing.T) (all []string) {
	t.Helper()
	for _, c := range w.read(t).Status.Conditions {
		all = append(all, c.Type)
	}
	slices.Sort(all)
	return all
}

func TestChangesThatWaitAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		c, inFlight := w.hold("private-router", release)
		s := newStore(c, w.Client)
		const controllers = 6
		var parts []*part
		for i := range controllers {
			parts = append(parts, s.Part(conditionPart("C"+strconv.Itoa(i))))
		}
		var all sync.WaitGroup
		write := func(i int) {
			es, name := w.read(t), "C"+strconv.Itoa(i)
			all.Go(func() {
				if err := report(parts[i], es, name, "").Write(t.Context()); err != nil {
					t.Error(err)
				}
				if !slices.Contains(w.types(t), name) {
					t.Errorf("%s is not stored although Write has returned", name)
				}
			})
		}
		write(0)
		<-inFlight
		for i := 1; i < controllers; i++ {
			write(i)
		}
		synctest.Wait()
		close(release)
		all.Wait()
		if got := len(w.types(t)); got != controllers {
			t.Errorf("%d conditions, want %d", got, controllers)
		}
		if w.count() != 2 {
			t.Errorf("%d writes, want the first one and one for all that waited", w.count())
		}
	})
}

// The controllers of a starting process react to the same event.
func TestReconcilesThatEndTogetherAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shared := newStore(w.Client, w.Client)
		var all sync.WaitGroup
		var controllers []*controller
		for _, condition := range []string{"A", "B", "C"} {
			c := w.controller(step{Name: "it", Condition: condition, Run: func(context.Context, *scope) error { return nil }})
			c.FieldOwner, c.Store, c.Conditions, c.Fields = "", shared, []string{condition}, nil
			c.Register()
			controllers = append(controllers, c)
		}
		for _, c := range controllers {
			all.Go(func() {
				if _, err := c.Reconcile(t.Context(), request); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.types(t); !slices.Equal(got, []string{"A", "B", "C"}) || w.count() != 1 {
			t.Errorf("%q after %d writes, want all after one", got, w.count())
		}
	})
}

// A record has to be stored before AWS is called: it does not wait for others.
func TestWriteDuringAReconcileDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := newStore(w.Client, w.Client)
		a := s.Part(conditionPart("A"))
		s.Part(conditionPart("B"))
		began := time.Now()
		mustWrite(t, report(a, w.read(t), "A", ""))
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestPartsThatWereNotReportedInThisProcessAreKept(t *testing.T) {
	w := newWorld(t)
	s := newStore(w.Client, w.Client)
	a, b := s.Part(conditionPart("A")), s.Part(conditionPart("B"))
	mustWrite(t, report(a, w.read(t), "A", ""))
	mustWrite(t, report(b, w.read(t), "B", ""))

	s = newStore(w.Client, w.Client) // the process restarts
	a, b = s.Part(conditionPart("A")), s.Part(conditionPart("B"))
	mustWrite(t, report(b, w.read(t), "B", "after the restart"))
	if got := w.types(t); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("conditions %q", got)
	}
	es := w.read(t)
	gone := a.Writer(es)
	es.Status.Conditions = nil
	mustWrite(t, gone)
	if got := w.types(t); !slices.Equal(got, []string{"B"}) {
		t.Errorf("conditions %q, want A given up", got)
	}
}

func TestPartsThatShareAFieldAreRefused(t *testing.T) {
	w := newWorld(t)
	s := newStore(w.Client, w.Client)
	a := s.Part(customersHalf)
	s.Part(customersHalf)
	es := w.read(t)
	other := reconcile.NewWriter(w.Client, w.Client, es, "other", customersHalf)
	es.Status.EndpointID = "vpce-0"
	mustWrite(t, other)
	es = w.read(t)
	p := a.Writer(es)
	es.Status.EndpointID = "vpce-1"
	if err := p.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "endpointID") {
		t.Errorf("got %v", err)
	}
}

// lagging returns a client that reads an old copy until caughtUp is called.
func (w *world) lagging(t *testing.T) (c client.Client, caughtUp func()) {
	t.Helper()
	old, behind := w.read(t), true
	return interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if behind {
				old.DeepCopyInto(obj.(*hyperv1.AWSEndpointService))
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}), func() { behind = false }
}

func TestReconcileBeginsWithTheLatestWrite(t *testing.T) {
	w := newWorld(t)
	cached, caughtUp := w.lagging(t)
	s := newStore(cached, w.Client)
	a, b := s.Part(conditionPart("A")), s.Part(conditionPart("B"))
	for i, p := range []*part{a, b, a, b} {
		es, err := s.Get(t.Context(), request.NamespacedName)
		must(t, err)
		if len(es.Status.Conditions) != min(i, 2) {
			t.Errorf("read %d conditions after %d writes", len(es.Status.Conditions), i)
		}
		if i == 2 {
			must(t, p.Writer(es).AddFinalizer(t.Context(), "example.com/a"))
		}
		mustWrite(t, report(p, es, []string{"A", "B"}[i%2], strconv.Itoa(i)))
	}
	if w.count() != 4 {
		t.Errorf("%d writes, want 4: one had a conflict", w.count())
	}
	if got := w.read(t); len(got.Finalizers) != 1 || len(got.Status.Conditions) != 2 {
		t.Errorf("got %q %+v", got.Finalizers, got.Status.Conditions)
	}
	if s.Objects() != 1 {
		t.Errorf("%d objects are remembered, want the one that the cache does not have", s.Objects())
	}
	caughtUp()
	newer := w.read(t)
	newer.Labels = map[string]string{"a": "b"}
	must(t, w.Update(t.Context(), newer))
	if es, err := s.Get(t.Context(), request.NamespacedName); err != nil || es.Labels["a"] != "b" {
		t.Errorf("got %v %v, want what the cache has by now", es.Labels, err)
	}
	if s.Objects() != 0 {
		t.Error("the object is still remembered")
	}
}

func TestObjectFromTheStoreIsACopy(t *testing.T) {
	w := newWorld(t)
	cached, _ := w.lagging(t)
	s := newStore(cached, w.Client)
	a := s.Part(conditionPart("A"))
	mustWrite(t, report(a, w.read(t), "A", ""))
	for range 2 {
		es, err := s.Get(t.Context(), request.NamespacedName)
		must(t, err)
		if len(es.Status.Conditions) != 1 {
			t.Fatal("somebody else has changed the object")
		}
		es.Status.Conditions = nil
	}
}

func TestDeletedObjectsAreForgotten(t *testing.T) {
	w := newWorld(t)
	s := newStore(w.Client, w.Client)
	mustWrite(t, report(s.Part(conditionPart("A")), w.read(t), "A", ""))
	if s.Objects() != 1 {
		t.Fatalf("%d objects are remembered, want 1", s.Objects())
	}
	must(t, w.Delete(t.Context(), w.read(t)))
	if _, err := s.Get(t.Context(), request.NamespacedName); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	if s.Objects() != 0 {
		t.Error("the object is still remembered")
	}
}

// A controller that does not watch its own writes does not read them soon.
func TestObjectsAreForgottenAfterATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := newStore(w.Client, w.Client)
		a := s.Part(conditionPart("A"))
		mustWrite(t, report(a, w.read(t), "A", ""))
		time.Sleep(reconcile.Retention + 1) // of a clock that does not run
		must(t, w.Create(t.Context(), &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "uid-2"}}))
		other := &hyperv1.AWSEndpointService{}
		must(t, w.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "other"}, other))
		mustWrite(t, report(a, other, "A", ""))
		if s.Objects() != 1 {
			t.Errorf("%d objects are remembered, want the other one only", s.Objects())
		}
	})
}

func TestSlowWriteDelaysNoOtherObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, inFlight := w.hold("private-router", nil) // until its context ends
		s := newStore(c, w.Client)
		a := s.Part(conditionPart("A"))
		slow := report(a, w.read(t), "A", "")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- slow.Write(ctx) }()
		<-inFlight
		must(t, w.Create(t.Context(), &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "uid-2"}}))
		other := &hyperv1.AWSEndpointService{}
		must(t, w.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "other"}, other))
		mustWrite(t, report(a, other, "A", ""))
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// The writer that writes for others gives up.
func TestWriterThatGivesUpDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release, calls := make(chan struct{}), 0
		c := w.apply(func(ctx context.Context, _ runtime.ApplyConfiguration, next func() error) error {
			switch calls++; calls {
			case 1:
				<-release
			case 2:
				<-ctx.Done()
				return ctx.Err()
			}
			return next()
		})
		s := newStore(c, w.Client)
		impatient, giveUp := context.WithCancel(t.Context())
		var results errorsByName
		var all sync.WaitGroup
		for condition, ctx := range inOrder("A", t.Context(), "B", impatient, "C", t.Context()) {
			change := report(s.Part(conditionPart(condition)), w.read(t), condition, "")
			all.Go(func() { results.set(condition, change.Write(ctx)) })
			synctest.Wait() // A is in flight, B comes first of those that wait
		}
		close(release)
		synctest.Wait()
		if calls != 2 {
			t.Fatalf("%d writes, want the one of B in flight", calls)
		}
		giveUp()
		all.Wait()
		if results.get("A") != nil || !errors.Is(results.get("B"), context.Canceled) || results.get("C") != nil {
			t.Errorf("got %v", results.all)
		}
		if got := w.types(t); !slices.Equal(got, []string{"A", "C"}) {
			t.Errorf("conditions %q, want A and C", got)
		}
		if s.Waiting() != 0 {
			t.Error("a change still waits")
		}
	})
}

// inOrder iterates over pairs.
func inOrder(pairs ...any) func(func(string, context.Context) bool) {
	return func(yield func(string, context.Context) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(pairs[i].(string), pairs[i+1].(context.Context)) {
				return
			}
		}
	}
}

func TestWriterThatFailsBeforeItsWriteDoesNotFailOthers(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"its context ends": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"it panics": func(ctx context.Context) error {
			<-ctx.Done()
			panic("a bug")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				release, reads := make(chan struct{}), 0
				held, _ := w.hold("private-router", release)
				cached := interceptor.NewClient(held.(client.WithWatch), interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
						if reads++; reads == 2 {
							return fail(ctx)
						}
						return c.Get(ctx, key, obj, opts...)
					},
				})
				s := newStore(cached, w.Client)
				impatient, giveUp := context.WithCancel(t.Context())
				var results errorsByName
				var all sync.WaitGroup
				for condition, ctx := range inOrder("A", t.Context(), "B", impatient, "C", t.Context()) {
					change := report(s.Part(conditionPart(condition)), w.read(t), condition, "")
					all.Go(func() {
						defer func() {
							if bug := recover(); bug != nil {
								results.set(condition, fmt.Errorf("%v", bug))
							}
						}()
						results.set(condition, change.Write(ctx))
					})
					synctest.Wait() // A is in flight, B comes first of those that wait
				}
				close(release)
				synctest.Wait()
				giveUp()
				all.Wait()
				if results.get("A") != nil || results.get("B") == nil || results.get("C") != nil {
					t.Errorf("got %v", results.all)
				}
				if got := w.types(t); !slices.Contains(got, "A") || !slices.Contains(got, "C") {
					t.Errorf("conditions %q, want A and C", got)
				}
			})
		})
	}
}

func TestChangeOfAWriterThatGaveUpIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		c, inFlight := w.hold("private-router", release)
		s := newStore(c, w.Client)
		a, b := report(s.Part(conditionPart("A")), w.read(t), "A", ""), report(s.Part(conditionPart("B")), w.read(t), "B", "")
		stored := make(chan error)
		go func() { stored <- a.Write(t.Context()) }()
		<-inFlight
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() { gaveUp <- b.Write(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(release)
		must(t, <-stored)
		mustWrite(t, report(s.Part(conditionPart("C")), w.read(t), "C", ""))
		if got := w.types(t); !slices.Equal(got, []string{"A", "C"}) {
			t.Errorf("conditions %q, want A and C", got)
		}
	})
}

func TestInvalidPartFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release, calls := make(chan struct{}), 0
		c := w.apply(func(_ context.Context, obj runtime.ApplyConfiguration, next func() error) error {
			if calls++; calls == 1 {
				<-release
			}
			if text, _ := json.Marshal(obj); strings.Contains(string(text), "too long") {
				return apierrors.NewInvalid(schema.GroupKind{Kind: "AWSEndpointService"}, nameOf(obj), nil)
			}
			return next()
		})
		s := newStore(c, w.Client)
		var results errorsByName
		var all sync.WaitGroup
		for _, condition := range []string{"A", "B", "C"} {
			change := report(s.Part(conditionPart(condition)), w.read(t), condition, map[string]string{"B": "too long"}[condition])
			all.Go(func() { results.set(condition, change.Write(t.Context())) })
			synctest.Wait()
		}
		close(release)
		all.Wait()
		if results.get("A") != nil || !apierrors.IsInvalid(results.get("B")) || results.get("C") != nil {
			t.Errorf("got %v", results.all)
		}
		if got := w.types(t); !slices.Equal(got, []string{"A", "C"}) {
			t.Errorf("conditions %q, want A and C", got)
		}
	})
}

func TestChangeOfTheSpecRefusesEachReconcileThatDoesNotKnowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		c, inFlight := w.hold("private-router", release)
		s := newStore(c, w.Client)
		a, b, d := s.Part(conditionPart("A")), s.Part(conditionPart("B")), s.Part(conditionPart("D"))
		var results errorsByName
		var all sync.WaitGroup
		write := func(p *part, condition string) {
			change := report(p, w.read(t), condition, "")
			all.Go(func() { results.set(condition, change.Write(t.Context())) })
		}
		write(a, "A")
		<-inFlight
		write(b, "B")
		synctest.Wait()
		es := w.read(t)
		es.Generation++
		must(t, w.Update(t.Context(), es))
		write(d, "D")
		synctest.Wait()
		close(release)
		all.Wait()
		if !apierrors.IsConflict(results.get("A")) || !apierrors.IsConflict(results.get("B")) || results.get("D") != nil {
			t.Errorf("got %v", results.all)
		}
		if got := w.types(t); !slices.Equal(got, []string{"D"}) {
			t.Errorf("conditions %q, want D", got)
		}
	})
}
