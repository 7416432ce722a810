//go:build e2e

package e2e

import "testing"

// TestEveryday runs the usual kubectl commands of a user.
func TestEveryday(t *testing.T) {
	begin(t)
	h := newHosted(t, "everyday", on.Versions[0])
	h.create()
	h.available()
	h.startedOnce()
	runAll(t, h.kubeconfig, everyday)
}
