package aws

import (
	"testing"
)

// The process must not grow with the objects that it has seen.
func TestTheBackoffForgetsObjectsThatDoNotWait(t *testing.T) {
	for name, end := range map[string]func(*privateLink){
		"available": func(e *privateLink) {
			e.mine.SetLoadBalancerState(region, lbName, "active")
			e.Run(10)
			if missing := e.ready(e.T.Context()); missing != "" {
				e.T.Fatal(missing)
			}
		},
		"deleted": func(e *privateLink) {
			e.Delete(endpointService())
			e.Run(20)
			if e.Exists(endpointService()) {
				e.T.Fatal("the object still exists")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPrivateLink(t)
			e.mine.SetLoadBalancerState(region, lbName, "provisioning")
			r := e.reconciler()
			e.Use(e.passOf(r))
			e.Run(2)
			if n := r.ledger.Len(); n != 1 {
				t.Fatalf("%d objects wait, want 1", n)
			}
			end(e)
			if n := r.ledger.Len(); n != 0 {
				t.Errorf("%d objects are remembered", n)
			}
		})
	}
}
