package hostedcluster

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// notPaused replaces an earlier pause: a field that is omitted in an apply keeps its
// value.
const notPaused hyperv1.PausedUntil = "false"

// invalidPause reports whether the value of pausedUntil cannot be parsed. It
// counts as a pause without an end.
func (s *scope) invalidPause() bool {
	return s.paused && s.pauseLeft == 0 && !strings.EqualFold(string(*s.hc.Spec.PausedUntil), "true")
}

// pauseControlPlane copies the pause, and no other field of the spec.
func (r *Reconciler) pauseControlPlane(ctx context.Context, s *scope) error {
	want := ptr.Deref(s.hc.Spec.PausedUntil, notPaused)
	if s.invalidPause() || s.hcp == nil || ptr.Deref(s.hcp.Spec.PausedUntil, notPaused) == want {
		return nil
	}
	if err := r.Client.Patch(ctx, s.hcp, mergepatch.Spec(map[string]any{"pausedUntil": want})); err != nil {
		return fmt.Errorf("pausing HostedControlPlane %s: %w", s.hcp.Name, err)
	}
	return nil
}
