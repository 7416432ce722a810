package hostedcontrolplane

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	// Reader reads past the cache: Events, which are many and read rarely.
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// ServesRoutes is true if the management cluster serves Routes, as OpenShift does.
	// A control plane has its own router only where the OpenShift router is not sufficient.
	ServesRoutes bool
	// LoadBalancers are the settings of the installation.
	LoadBalancers loadbalancers.Settings
}

// movingInterval is how often a control plane that leaves the shared router looks for the reasons why its load balancers do not exist: Services are
// watched, but their events are not.
const movingInterval = 30 * time.Second

// Reconciler publishes the services of a HostedControlPlane.
type Reconciler struct {
	Options
	apply *apply.Applier
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
	live := []reconcile.Step[*scope]{
		{Name: "finalizer", Run: r.addFinalizer},
		{Name: "configuration", Condition: hyperv1.ValidHostedControlPlaneConfiguration, Run: r.checkConfiguration},
		{Name: "access mode", Run: r.recordAccess},
		{Name: "exposure", Run: r.ensureExposure},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "hosts", Condition: hyperv1.InfrastructureReady, Run: r.resolveHosts},
			reconcile.Step[*scope]{Name: "admission", Run: r.admitRoutes},
		),
	}
	deleting := []reconcile.Step[*scope]{
		{Name: "exposure", Condition: hyperv1.InfrastructureReady, Run: r.deleteExposure},
		{Name: "finalizer", Run: r.removeFinalizer},
	}
	return &Controller{
		Name: "hostedcontrolplane", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case !s.hcp.DeletionTimestamp.IsZero():
				return deleting
			case s.paused:
				return nil
			}
			return live
		},
		Store: opts.Status, Conditions: ours, Fields: fields, Spacing: reconcile.DefaultSpacing,
		// Both are constant in a new control plane. A change of the access mode is recorded by its step.
		CanWait: []string{"externalManagedControlPlane", "servedEndpointAccess"},
		Status:  summarize,
		NoLaterThan: func(s *scope) time.Duration {
			switch {
			case len(s.moving) > 0:
				return movingInterval
			case s.publishAfter > 0:
				return s.publishAfter
			}
			return s.pauseLeft
		},
	}
}

// scope holds the facts of one reconcile.
type scope struct {
	hcp    *hyperv1.HostedControlPlane
	status *reconcile.Writer[*hyperv1.HostedControlPlane]
	// paused is true if objects may not be changed, for pauseLeft if that is not 0. The
	// status is reported nevertheless. A deletion is never paused.
	paused    bool
	pauseLeft time.Duration
	// access is how the services are published. Set by recordAccess.
	access access
	// moving is what a control plane that leaves the shared router still waits for. Set by resolveHosts.
	moving []string
	// publishAfter is when public names may change to the control plane's own router, 0 if they need not. Set by admitRoutes.
	publishAfter time.Duration
	// objects are the desired Services and Routes. Set by ensureExposure.
	objects []client.Object
}

func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, status *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	s := &scope{hcp: hcp, status: status}
	if hcp.DeletionTimestamp.IsZero() {
		s.paused, s.pauseLeft = hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	}
	return s, nil
}

func (r *Reconciler) addFinalizer(ctx context.Context, s *scope) error {
	return s.status.AddFinalizer(ctx, hyperv1.HostedClusterFinalizer)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return s.status.RemoveFinalizer(ctx, hyperv1.HostedClusterFinalizer)
}
