package testenv

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// failureCount counts failures instead of failing the test.
type failureCount struct {
	testing.TB
	failures int
}

func (f *failureCount) Errorf(string, ...any) { f.failures++ }

func newControlPlane(t testing.TB) *Env {
	e := New(t, For(HostedControlPlane(), &hyperv1.HostedControlPlaneList{}))
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waiting", Message: "waiting for pods", LastTransitionTime: metav1.Now()}}
	})
	return e
}

func TestExpectationsFailForOtherConditions(t *testing.T) {
	for name, c := range map[string]struct {
		expect   func(*Env)
		failures int
	}{
		"the condition":       {func(e *Env) { e.ExpectCondition("Ready", metav1.ConditionFalse, "Waiting", "waiting", "pods") }, 0},
		"another status":      {func(e *Env) { e.ExpectCondition("Ready", metav1.ConditionTrue, "Waiting") }, 1},
		"another reason":      {func(e *Env) { e.ExpectCondition("Ready", metav1.ConditionFalse, "Failed") }, 1},
		"two other words":     {func(e *Env) { e.ExpectCondition("Ready", metav1.ConditionFalse, "Waiting", "nodes", "pods", "etcd") }, 2},
		"a missing condition": {func(e *Env) { e.ExpectCondition("Available", "", "") }, 1},
		"the text":            {func(e *Env) { e.ExpectConditionText("Ready", "False Waiting: waiting for pods") }, 0},
		"a part of the text":  {func(e *Env) { e.ExpectConditionText("Ready", "False Waiting: waiting") }, 1},
		"no text":             {func(e *Env) { e.ExpectConditionText("Available", "nothing") }, 0},
		"the table": {func(e *Env) {
			e.ExpectConditions(map[string]string{"Ready": "False Waiting for pods", "Available": ""})
		}, 0},
		"a table with other words": {func(e *Env) { e.ExpectConditions(map[string]string{"Ready": "False Waiting for nodes"}) }, 1},
		"a table without it":       {func(e *Env) { e.ExpectConditions(map[string]string{"Ready": ""}) }, 1},
		"another requeue time":     {func(e *Env) { e.ExpectRequeue(time.Minute) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newControlPlane(t)
			count := &failureCount{TB: t}
			e.T = count
			c.expect(e)
			if count.failures != c.failures {
				t.Errorf("%d failures, want %d", count.failures, c.failures)
			}
		})
	}
}

func TestOnlyAChangeOfTheSpecIncrementsTheGeneration(t *testing.T) {
	e := newControlPlane(t)
	for name, c := range map[string]struct {
		change    func(*hyperv1.HostedControlPlane)
		increment int64
	}{
		"spec":       {func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ReleaseImage += "x" }, 1},
		"annotation": {func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations["a"] = "b" }, 0},
		"status":     {func(hcp *hyperv1.HostedControlPlane) { hcp.Status.Ready = true }, 0},
	} {
		before := e.HCP().Generation
		e.ChangeHCP(c.change)
		if got := e.HCP().Generation - before; got != c.increment {
			t.Errorf("a change of the %s increments the generation by %d", name, got)
		}
	}
	if !e.HCP().Status.Ready {
		t.Error("the status was not written")
	}
}

// Settle ends when both the controller and the others are idle, and a pass of During follows each requeue time.
func TestPasses(t *testing.T) {
	e := newControlPlane(t)
	passes, others := 0, 0
	e.Start = func() Pass {
		return PassOver(e, &hyperv1.HostedControlPlaneList{}, func(context.Context, *hyperv1.HostedControlPlane) (ctrl.Result, error) {
			passes++
			return ctrl.Result{RequeueAfter: time.Minute}, nil
		})
	}
	e.Others = func(context.Context) error {
		if others++; others < 3 {
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ReleaseImage += "x" })
		}
		return nil
	}
	e.Settle()
	if passes != 3 {
		t.Errorf("%d passes, want 3", passes)
	}
	passes = 0
	e.During(150 * time.Second)
	if passes != 3 {
		t.Errorf("%d passes in 150 seconds, want one at the beginning and two at the requeue times", passes)
	}
	e.ExpectRequeue(time.Minute)
	e.Use(func(context.Context) error { return errors.New("failed") })
	e.RunFailing(2)
	if _, err := e.Attempt(); err == nil {
		t.Error("the error of a pass is lost")
	}
	e.Restart()
	e.Once()
}
