package components

import (
	"context"
	"slices"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// rolloutInterval is the requeue interval while pods are not ready. Watches report most problems, but some are only in Events.
const rolloutInterval = 15 * time.Second

// ensureComponents reconciles the components.
func (r *Reconciler) ensureComponents(ctx context.Context, s *scope) error {
	plane := &target.ControlPlane{
		HCP: s.hcp, Release: s.runs, OperatorImage: r.OperatorImage, Egress: r.Egress, ExpectsNodes: s.expectsNodes, Available: s.available, Serving: s.serving,
		API: s.api, Konnectivity: s.konnectivity, Routes: s.routes, Services: s.services, Secrets: s.secrets, ConfigMaps: s.configMaps,
	}
	desired := component.ControlPlane{HCP: s.hcp, Version: s.runs.Version, Components: component.RenderAll(plane, r.Components...)}
	states, err := r.runner.Ensure(ctx, desired, s.paused)
	if !reconcile.IsTransientAPIError(err) {
		s.states = states
	}
	if err != nil {
		return err
	}
	if s.hcp.Sleeps() {
		return nil // the end of each pod triggers a reconcile
	}
	if slices.ContainsFunc(states, func(c component.State) bool { return !c.RolledOut }) {
		interval := rolloutInterval
		if slices.ContainsFunc(states, func(c component.State) bool { return c.Unreported }) {
			interval = component.FirstReport
		}
		return reconcile.Wait(interval, hyperv1.WaitingForRolloutCompleteReason, "components are being rolled out")
	}
	return nil
}
