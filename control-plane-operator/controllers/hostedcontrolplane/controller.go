package hostedcontrolplane

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache: Events, which are many and wanted rarely.
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// ServesRoutes says that the management cluster serves Routes, as OpenShift
	// does: then a control plane has a router of its own only where that one would not do.
	ServesRoutes bool
}

// Reconciler drives a HostedControlPlane.
type Reconciler struct {
	Options
	apply       *apply.Applier
	live, dying []reconcile.Step[*scope]
}

// New returns a Reconciler.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
	r.live = []reconcile.Step[*scope]{
		{Name: "finalizer", Run: r.addFinalizer},
		{Name: "configuration", Condition: hyperv1.ValidHostedControlPlaneConfiguration, Run: r.checkConfiguration},
		{Name: "exposure", Run: r.ensureExposure},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "hosts", Condition: hyperv1.InfrastructureReady, Run: r.resolveHosts},
			reconcile.Step[*scope]{Name: "admission", Run: r.admitRoutes},
		),
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "exposure", Condition: hyperv1.InfrastructureReady, Run: r.deleteExposure},
		{Name: "finalizer", Run: r.removeFinalizer},
	}
	return r
}

// Reconcile brings one HostedControlPlane closer to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, names.ControlPlaneOperator, ourStatus)
	s := &scope{hcp: hcp, status: status}
	var remaining time.Duration
	s.paused, remaining = hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	var steps []reconcile.Step[*scope]
	switch {
	case !hcp.DeletionTimestamp.IsZero():
		steps, s.paused = r.dying, false
	case !s.paused:
		steps = r.live
	}
	report := reconcile.Run(ctx, s, steps...)
	r.summarize(s, report)
	result, err := report.Result(status.Write(ctx))
	if err == nil && result.RequeueAfter == 0 && s.paused {
		result.RequeueAfter = remaining
	}
	return result, err
}

// scope is what one pass has learned, and by which step.
type scope struct {
	hcp     *hyperv1.HostedControlPlane
	status  *reconcile.Writer[*hyperv1.HostedControlPlane]
	paused  bool            // what is true is told all the same
	access  access          // checkConfiguration
	objects []client.Object // ensureExposure: Services and Routes as they should be
}

func (r *Reconciler) addFinalizer(ctx context.Context, s *scope) error {
	return s.status.AddFinalizer(ctx, hyperv1.HostedClusterFinalizer)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return reconcile.RemoveFinalizer(ctx, r.Client, s.hcp, hyperv1.HostedClusterFinalizer)
}
