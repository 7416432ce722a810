package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// spaced returns a controller that spaces its writes, with one condition in Prompt. Its steps return the current
// outcomes.
func (w *world) spaced(outcomes *struct{ ready, linked error }, change func(*hyperv1.AWSEndpointService)) *controller {
	c := w.controller(
		reconcile.Group(
			step{Name: "ready", Condition: ready, Run: func(context.Context, *scope) error { return outcomes.ready }},
			step{Name: "linked", Condition: linked, Run: func(_ context.Context, s *scope) error {
				if change != nil {
					change(s.es)
				}
				return outcomes.linked
			}},
		),
	)
	c.Spacing, c.Prompt = time.Second, []string{linked}
	c.Register()
	return c
}

func young(reason string) error { return reconcile.Wait(0, reason, "") }

func TestChangesThatCanWaitAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		outcomes := struct{ ready, linked error }{young("First"), young("First")}
		c := w.spaced(&outcomes, nil)
		written := 0
		c.Written = func(*scope) { written++ }
		reconcileAgain := func(want time.Duration) {
			t.Helper()
			if res, err := c.Reconcile(t.Context(), request); err != nil || res.RequeueAfter != want {
				t.Errorf("requeued after %s, %v; want %s", res.RequeueAfter, err, want)
			}
		}
		reconcileAgain(0)
		if w.count() != 1 {
			t.Fatalf("%d writes, want the first one at once", w.count())
		}
		time.Sleep(300 * time.Millisecond)
		outcomes.ready = young("Second")
		reconcileAgain(700 * time.Millisecond)
		time.Sleep(300 * time.Millisecond)
		outcomes.ready = nil
		reconcileAgain(400 * time.Millisecond)
		if w.count() != 1 || written != 1 {
			t.Errorf("%d writes, and %d reports of one, although the changes can wait", w.count(), written)
		}
		time.Sleep(400 * time.Millisecond)
		reconcileAgain(0)
		if got := w.condition(t, ready).Status; w.count() != 2 || written != 2 || got != metav1.ConditionTrue {
			t.Errorf("%s after %d writes and %d reports, want the latest after one more", got, w.count(), written)
		}
		time.Sleep(2 * time.Second)
		outcomes.ready = young("Third")
		reconcileAgain(0)
		if w.count() != 3 {
			t.Errorf("%d writes, want one at once after a time without any", w.count())
		}
	})
}

func TestFieldsForUsersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		outcomes := struct{ ready, linked error }{}
		id := "vpce-1"
		c := w.spaced(&outcomes, func(es *hyperv1.AWSEndpointService) { es.Status.EndpointID = id })
		c.CanWait = []string{"endpointID"}
		c.Register()
		for _, id = range []string{"vpce-1", "vpce-2"} {
			if _, err := c.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.read(t).Status.EndpointID; w.count() != 1 || got != "vpce-1" {
			t.Errorf("%s after %d writes", got, w.count())
		}
	})
}

func TestChangesThatCannotWaitAreWrittenAtOnce(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *world, *struct{ ready, linked error }, *func(*hyperv1.AWSEndpointService)){
		"a condition for which others wait": func(_ *testing.T, _ *world, outcomes *struct{ ready, linked error }, _ *func(*hyperv1.AWSEndpointService)) {
			outcomes.linked = nil
		},
		"another field": func(_ *testing.T, _ *world, _ *struct{ ready, linked error }, change *func(*hyperv1.AWSEndpointService)) {
			*change = func(es *hyperv1.AWSEndpointService) { es.Status.EndpointID = "vpce-1" }
		},
		"the result of a reconcile that failed": func(_ *testing.T, _ *world, outcomes *struct{ ready, linked error }, _ *func(*hyperv1.AWSEndpointService)) {
			outcomes.ready = errors.New("no answer")
		},
		"the deletion of the object": func(t *testing.T, w *world, outcomes *struct{ ready, linked error }, _ *func(*hyperv1.AWSEndpointService)) {
			es := w.read(t)
			es.Finalizers = []string{"test"}
			must(t, w.Update(t.Context(), es))
			must(t, w.Delete(t.Context(), es))
			outcomes.ready = young("Deleting")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				outcomes := struct{ ready, linked error }{young("First"), young("First")}
				field := func(*hyperv1.AWSEndpointService) {}
				c := w.spaced(&outcomes, func(es *hyperv1.AWSEndpointService) { field(es) })
				for want := 1; want <= 2; want++ {
					_, err := c.Reconcile(t.Context(), request)
					if (err != nil) != (want == 2 && outcomes.ready != nil && name == "the result of a reconcile that failed") {
						t.Fatal(err)
					}
					if w.count() != want {
						t.Fatalf("%d writes, want %d", w.count(), want)
					}
					change(t, w, &outcomes, &field)
				}
			})
		})
	}
}

func TestAChangeThatWaitsIsWrittenWithOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		// again is whether the controller has another result before the other one writes.
		again error
		want  metav1.ConditionStatus
	}{
		"the change is the latest result": {nil, metav1.ConditionTrue},
		"a later result withdraws it":     {young("First"), metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				shared := newStore(w.Client, w.Client)
				other := shared.Part(conditionPart("Other"))
				outcome := young("First")
				c := w.controller(step{Name: "ready", Condition: ready, Run: func(context.Context, *scope) error { return outcome }})
				c.FieldOwner, c.Store, c.Conditions, c.Fields, c.Spacing = "", shared, []string{ready}, nil, time.Second
				c.Register()
				for _, outcome = range []error{young("First"), nil, tc.again} {
					if _, err := c.Reconcile(t.Context(), request); err != nil {
						t.Fatal(err)
					}
				}
				mustWrite(t, report(other, w.read(t), "Other", ""))
				if got := w.condition(t, ready).Status; got != tc.want || w.count() != 2 {
					t.Errorf("%s is %s after %d writes, want %s after 2", ready, got, w.count(), tc.want)
				}
				mustWrite(t, report(other, w.read(t), "Other", "again")) // it is not written twice
				time.Sleep(time.Second)
				if res, err := c.Reconcile(t.Context(), request); err != nil || !res.IsZero() || w.count() != 3 {
					t.Errorf("%+v, %v, %d writes although nothing differs", res, err, w.count())
				}
			})
		})
	}
}

func TestControllersOfANewObjectWaitForEachOther(t *testing.T) {
	for name, tc := range map[string]struct {
		age    time.Duration
		writes int
	}{"a new object": {time.Second / 4, 0}, "an object that is there after a restart": {time.Minute, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				es := w.read(t)
				es.CreationTimestamp = metav1.NewTime(time.Now().Add(-tc.age))
				must(t, w.Update(t.Context(), es))
				shared := newStore(w.Client, w.Client)
				shared.Part(conditionPart("Other"))
				c := w.controller(step{Name: "ready", Condition: ready, Run: func(context.Context, *scope) error { return nil }})
				c.FieldOwner, c.Store, c.Conditions, c.Fields, c.Spacing = "", shared, []string{ready}, nil, 2*time.Second
				c.Register()
				res, err := c.Reconcile(t.Context(), request)
				if err != nil || w.count() != tc.writes || (res.RequeueAfter > 0) != (tc.writes == 0) {
					t.Errorf("%d writes, %+v, %v, want %d writes", w.count(), res, err, tc.writes)
				}
				time.Sleep(res.RequeueAfter)
				if _, err := c.Reconcile(t.Context(), request); err != nil || w.count() != 1 {
					t.Errorf("%d writes, %v, want 1 in the end", w.count(), err)
				}
			})
		})
	}
}

func TestADerivedConditionDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shared := newStore(w.Client, w.Client)
		shared.Part(conditionPart("Other"))
		shared.Derive(func(_ *hyperv1.AWSEndpointService, conditions *reconcile.Conditions) {
			status := metav1.ConditionFalse
			if conditions.IsTrue(ready) {
				status = metav1.ConditionTrue
			}
			conditions.Set("Available", status, "Derived", "")
		}, "Available")
		outcome := young("First")
		c := w.controller(step{Name: "ready", Condition: ready, Run: func(context.Context, *scope) error { return outcome }})
		c.FieldOwner, c.Store, c.Conditions, c.Fields, c.Spacing = "", shared, []string{ready}, nil, time.Second
		c.Register()
		for _, tc := range []struct {
			outcome error
			writes  int
		}{{young("First"), 1}, {young("Second"), 1}, {nil, 2}, {young("Third"), 3}, {young("Fourth"), 3}} {
			outcome = tc.outcome
			if _, err := c.Reconcile(t.Context(), request); err != nil || w.count() != tc.writes {
				t.Errorf("%d writes after %v, %v, want %d", w.count(), tc.outcome, err, tc.writes)
			}
		}
	})
}

// Its controller reconciles the object again anyway.
func TestAChangeThatWaitsFailsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shared := newStore(w.Client, w.Client)
		other := shared.Part(conditionPart("Other"))
		outcome := young("First")
		c := w.controller(step{Name: "ready", Condition: ready, Run: func(context.Context, *scope) error { return outcome }})
		c.FieldOwner, c.Store, c.Conditions, c.Fields, c.Spacing = "", shared, []string{ready}, nil, time.Second
		c.Register()
		for _, outcome = range []error{young("First"), nil} {
			if _, err := c.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		es := w.read(t)
		es.Spec.SubnetIDs = []string{"subnet-1"}
		es.Generation++
		must(t, w.Update(t.Context(), es))
		for range 2 {
			mustWrite(t, report(other, w.read(t), "Other", time.Now().String()))
			time.Sleep(time.Millisecond)
		}
		if got := w.condition(t, ready).Status; got != metav1.ConditionFalse {
			t.Errorf("%s is %s, which is the result for an earlier spec", ready, got)
		}
	})
}
