package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

type (
	scope      struct{ es *hyperv1.AWSEndpointService }
	step       = reconcile.Step[*scope]
	controller = reconcile.Controller[*hyperv1.AWSEndpointService, *scope]
)

const (
	ready  = "Ready"
	linked = "Linked"
)

var (
	start   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	request = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "private-router"}}
)

// controller returns a controller with those steps in its live phase.
func (w *world) controller(steps ...step) *controller {
	return &controller{
		Name: "test", Client: w.Client, Reader: w.Client, Clock: clocktesting.NewFakePassiveClock(start),
		Scope: func(_ context.Context, es *hyperv1.AWSEndpointService, _ *reconcile.Writer[*hyperv1.AWSEndpointService]) (*scope, error) {
			return &scope{es: es}, nil
		},
		Phase:      func(*scope) []step { return steps },
		FieldOwner: "test", Conditions: []string{ready, linked},
		Fields: func(es *hyperv1.AWSEndpointService) any {
			return hyperv1.AWSEndpointServiceStatus{EndpointID: es.Status.EndpointID}
		},
	}
}

func returns(outcome error) step {
	return step{Name: "it", Condition: ready, Run: func(context.Context, *scope) error { return outcome }}
}

func (w *world) condition(t *testing.T, conditionType string) metav1.Condition {
	t.Helper()
	if c := meta.FindStatusCondition(w.read(t).Status.Conditions, conditionType); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func TestReconcileWritesItsPartOfTheStatusOnce(t *testing.T) {
	w := newWorld(t)
	c := w.controller(step{Name: "it", Condition: ready, Run: func(_ context.Context, s *scope) error {
		s.es.Status.EndpointID = "vpce-1"
		s.es.Status.EndpointServiceName = "not ours"
		return nil
	}})
	for range 2 {
		if res, err := c.Reconcile(t.Context(), request); err != nil || !res.IsZero() {
			t.Errorf("got %+v %v", res, err)
		}
	}
	if got := w.read(t).Status; got.EndpointID != "vpce-1" || got.EndpointServiceName != "" {
		t.Errorf("got %+v", got)
	}
	if got := w.condition(t, ready); got.Status != metav1.ConditionTrue || !got.LastTransitionTime.Time.Equal(start) {
		t.Errorf("got %+v", got)
	}
	if w.count() != 1 {
		t.Errorf("%d writes, want 1", w.count())
	}
}

func TestWhenAnObjectIsReconciledAgain(t *testing.T) {
	every := func(period time.Duration) func(*scope) time.Duration {
		return func(*scope) time.Duration { return period }
	}
	for name, tc := range map[string]struct {
		outcome             error
		resync, noLaterThan time.Duration
		least, most         time.Duration
	}{
		"never, unless something changes":              {nil, 0, 0, 0, 0},
		"after the resync period, with jitter":         {nil, time.Minute, 0, time.Minute, 72 * time.Second},
		"when a step asks for it, without jitter":      {reconcile.Wait(time.Second, "Young", ""), time.Minute, 0, time.Second, time.Second},
		"when a step asks for it, even after a resync": {reconcile.Wait(time.Hour, "Young", ""), time.Minute, 0, time.Hour, time.Hour},
		"a wait for a watch is resynced":               {reconcile.Wait(0, "Young", ""), time.Minute, 0, time.Minute, 72 * time.Second},
		"no later than the end of a pause":             {nil, time.Hour, time.Minute, time.Minute, time.Minute},
		"before the end of a pause":                    {reconcile.Wait(time.Second, "Young", ""), 0, time.Minute, time.Second, time.Second},
		"at the end of a pause":                        {nil, 0, time.Minute, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c := newWorld(t).controller(returns(tc.outcome))
			c.Resync, c.NoLaterThan = every(tc.resync), every(tc.noLaterThan)
			res, err := c.Reconcile(t.Context(), request)
			if err != nil || res.RequeueAfter < tc.least || res.RequeueAfter > tc.most {
				t.Errorf("got %v %v, want %v to %v", res.RequeueAfter, err, tc.least, tc.most)
			}
		})
	}
}

func TestSkippedObjectKeepsItsStatus(t *testing.T) {
	w := newWorld(t)
	c := w.controller(returns(nil))
	c.Scope = func(context.Context, *hyperv1.AWSEndpointService, *reconcile.Writer[*hyperv1.AWSEndpointService]) (*scope, error) {
		return nil, reconcile.Skip(time.Minute)
	}
	if res, err := c.Reconcile(t.Context(), request); err != nil || res.RequeueAfter != time.Minute {
		t.Errorf("got %+v %v", res, err)
	}
	if w.count() > 0 {
		t.Error("the status was written")
	}
}

func TestDeletedObject(t *testing.T) {
	w := newWorld(t)
	must(t, w.Delete(t.Context(), w.read(t)))
	c := w.controller(returns(errors.New("the object is gone")))
	if res, err := c.Reconcile(t.Context(), request); err != nil || !res.IsZero() {
		t.Errorf("got %+v %v", res, err)
	}
	c.Gone = func(_ context.Context, key client.ObjectKey) error {
		return reconcile.Wait(time.Second, "Leaving", "waiting for what %s has left", key)
	}
	if res, err := c.Reconcile(t.Context(), request); err != nil || res.RequeueAfter != time.Second {
		t.Errorf("got %+v %v", res, err)
	}
}

func TestStatusOfAFailedReconcileIsWritten(t *testing.T) {
	for name, run := range map[string]func(context.Context, *scope) error{
		"a step fails":  func(context.Context, *scope) error { return errors.New("denied") },
		"a step panics": func(context.Context, *scope) error { panic("denied") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.controller(step{Name: "it", Condition: ready, Run: run}, step{Name: "next", Condition: linked})
			if _, err := c.Reconcile(t.Context(), request); err == nil {
				t.Error("the reconcile has not failed")
			}
			if got := w.condition(t, ready); got.Status != metav1.ConditionFalse {
				t.Errorf("got %+v", got)
			}
			if got := w.condition(t, linked); got.Status != metav1.ConditionUnknown || got.Message != "waiting for it" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestStepsThatTakeTooLongDoNotKeepTheStatusFromBeingWritten(t *testing.T) {
	w := newWorld(t)
	c := w.controller(step{Name: "it", Condition: ready, Run: func(ctx context.Context, _ *scope) error {
		<-ctx.Done()
		return reconcile.Wait(0, "Slow", "%v", ctx.Err())
	}})
	c.Timeout = time.Millisecond
	if _, err := c.Reconcile(t.Context(), request); err != nil {
		t.Error(err)
	}
	if got := w.condition(t, ready); got.Reason != "Slow" {
		t.Errorf("got %+v", got)
	}
}

func TestConflictInTheStatusIsNoFailure(t *testing.T) {
	w := newWorld(t)
	written := false
	c := w.controller(step{Name: "it", Condition: ready, Run: func(context.Context, *scope) error {
		es := w.read(t)
		es.Generation++
		return w.Update(t.Context(), es)
	}})
	c.Written = func(*scope) { written = true }
	res, err := c.Reconcile(t.Context(), request)
	if err != nil || res.RequeueAfter == 0 || res.RequeueAfter > time.Second {
		t.Errorf("got %+v %v", res, err)
	}
	if written {
		t.Error("the status counts as written")
	}
	c.Phase = func(*scope) []step { return []step{returns(nil)} }
	if _, err := c.Reconcile(t.Context(), request); err != nil || !written {
		t.Errorf("written %v, %v", written, err)
	}
}

func TestSummaryOfAllSteps(t *testing.T) {
	w := newWorld(t)
	c := w.controller(
		step{Name: "first", Run: func(context.Context, *scope) error { return nil }},
		step{Name: "second", Run: func(context.Context, *scope) error { return reconcile.Block("Bad", "change it") }},
	)
	c.Summary = func(*scope) string { return linked }
	c.Status = func(_ *scope, report reconcile.Report, conditions *reconcile.Conditions) {
		if report.Done() || conditions.IsTrue(linked) {
			t.Error("the steps are done")
		}
		conditions.Set(ready, metav1.ConditionFalse, "NotLinked", conditions.Get(linked).Message)
	}
	if _, err := c.Reconcile(t.Context(), request); err != nil {
		t.Error(err)
	}
	if got := w.condition(t, linked); got.Reason != "Bad" {
		t.Errorf("got %+v", got)
	}
	if got := w.condition(t, ready); got.Message != "change it" {
		t.Errorf("got %+v", got)
	}
}

func TestControllerWithoutAStatus(t *testing.T) {
	w := newWorld(t)
	c := w.controller(returns(nil))
	c.FieldOwner, c.Conditions, c.Fields = "", nil, nil
	if _, err := c.Reconcile(t.Context(), request); err != nil {
		t.Error(err)
	}
	if w.count() > 0 {
		t.Error("a status was written")
	}
}

func TestObjectsFromElsewhere(t *testing.T) {
	w := newWorld(t)
	c := w.controller(returns(nil))
	var saved []string
	c.Get = func(_ context.Context, key client.ObjectKey) (*hyperv1.AWSEndpointService, error) {
		return &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "remembered"}}, nil
	}
	c.Save = func(_ context.Context, s *scope) error {
		saved = append(saved, s.es.Name+" "+s.es.Status.Conditions[0].Type)
		return nil
	}
	if _, err := c.Reconcile(t.Context(), request); err != nil {
		t.Error(err)
	}
	if !slices.Equal(saved, []string{"remembered " + ready}) || w.count() > 0 {
		t.Errorf("saved %q, %d writes", saved, w.count())
	}
}

func TestSequence(t *testing.T) {
	in := func(after time.Duration, err error) reconcile.Reconciler {
		return reconcile.ReconcilerFunc(func(context.Context, ctrl.Request) (ctrl.Result, error) {
			return ctrl.Result{RequeueAfter: after}, err
		})
	}
	res, err := reconcile.Sequence(in(time.Minute, nil), in(0, nil), in(time.Second, nil)).Reconcile(t.Context(), request)
	if err != nil || res.RequeueAfter != time.Second {
		t.Errorf("got %+v %v, want the shortest time", res, err)
	}
	failed := apierrors.NewBadRequest("no")
	if _, err := reconcile.Sequence(in(0, failed), reconcile.ReconcilerFunc(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		t.Error("the second one ran")
		return ctrl.Result{}, nil
	})).Reconcile(t.Context(), request); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func TestAnIncompleteControllerIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*controller){
		"no name":                            func(c *controller) { c.Name = "" },
		"no phases":                          func(c *controller) { c.Phase = nil },
		"no reader to write the status with": func(c *controller) { c.Reader = nil },
		"no clock for conditions":            func(c *controller) { c.Clock = nil },
		"a status that is not stored":        func(c *controller) { c.FieldOwner = "" },
		"spaced writes of no status": func(c *controller) {
			c.FieldOwner, c.Conditions, c.Fields, c.Spacing = "", nil, nil, time.Second
		},
		"a field that the status does not have": func(c *controller) { c.CanWait = []string{"endpointID", "endpoint"} },
		"two ways to store the status": func(c *controller) {
			c.Store = reconcile.NewStore[*hyperv1.AWSEndpointService](c.Client, c.Reader, "other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newWorld(t).controller()
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			spoil(c)
			if c.Validate() == nil {
				t.Error("it is accepted")
			}
		})
	}
}
