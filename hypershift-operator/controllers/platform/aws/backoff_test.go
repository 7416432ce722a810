package aws

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
			if n := r.ledger.Len(); n != 1 {
				t.Fatalf("%d objects wait, want 1", n)
			}
			end(t, w, pass)
			if n := r.ledger.Len(); n != 0 {
				t.Errorf("%d objects are remembered", n)
			}
		})
	}
}
