package aws

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestChecksBecomeRarerTheLongerAWSTakes(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	b := newBackoff(clk)
	for _, tc := range []struct{ after, want time.Duration }{
		{0, minInterval}, {10 * time.Second, minInterval}, {50 * time.Second, 15 * time.Second}, {9 * time.Minute, 150 * time.Second}, {time.Hour, maxInterval},
	} {
		clk.Step(tc.after)
		if got := b.next("a"); got != tc.want {
			t.Errorf("%s later the interval is %s, want %s", tc.after, got, tc.want)
		}
	}
	if got := b.next("b"); got != minInterval {
		t.Errorf("another object has interval %s", got)
	}
	b.end("a")
	if got := b.next("a"); got != minInterval {
		t.Errorf("the next wait begins with %s", got)
	}
}

// The process must not grow with the objects that it has seen.
func TestTheBackoffForgetsObjectsThatDoNotWait(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *testEnv, func(context.Context) error){
		"available": func(t *testing.T, w *testEnv, pass func(context.Context) error) {
			w.mine.SetLoadBalancerState(region, lbName, "active")
			w.run(t, pass, 10)
			if missing := w.ready(t.Context()); missing != "" {
				t.Fatal(missing)
			}
		},
		"deleted": func(t *testing.T, w *testEnv, pass func(context.Context) error) {
			if err := w.Admin().Delete(t.Context(), endpointService("private-router")); err != nil {
				t.Fatal(err)
			}
			w.run(t, pass, 20)
			if _, err := w.get(t.Context(), "private-router"); !apierrors.IsNotFound(err) {
				t.Fatalf("the object still exists: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.mine.SetLoadBalancerState(region, lbName, "provisioning")
			r := w.reconciler()
			pass := w.passOf(r)
			w.run(t, pass, 2)
			if n := r.backoff.since.Len(); n != 1 {
				t.Fatalf("%d objects wait, want 1", n)
			}
			end(t, w, pass)
			if n := r.backoff.since.Len(); n != 0 {
				t.Errorf("%d objects are remembered", n)
			}
		})
	}
}
