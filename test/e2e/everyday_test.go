//go:build e2e

package e2e

import "testing"

// A user who has never heard of us does what he does on any day.
func TestEveryday(t *testing.T) {
	h := newHosted(t, "everyday", on.Versions[0])
	h.create()
	h.available()
	runAll(t, h.kubeconfig, everyday)
}
