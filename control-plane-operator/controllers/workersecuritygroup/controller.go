package workersecuritygroup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Owner is the field owner of this controller's part of the status.
const Owner = "control-plane-operator-worker-security-group"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Sessions *session.Sessions
	// KeyReady returns identity.ErrNoKey as long as there is no key to sign with.
	KeyReady func(context.Context) error
	// ResyncPeriod is how often the endpoints' controller looks at the security
	// groups of the cluster, with some jitter that it adds.
	ResyncPeriod time.Duration
}

// Reconciler drives the security group of a cluster's workers.
type Reconciler struct {
	Options
	live, dying []reconcile.Step[*scope]
	// asked is when the deletion first asked for what may just have been made.
	// One pass runs at a time.
	asked map[types.UID]time.Time
}

// New returns a Reconciler that knows nothing yet.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, asked: map[types.UID]time.Time{}}
	r.live = []reconcile.Step[*scope]{
		{Name: "platform", Run: r.checkPlatform},
		{Name: "record", Run: r.record},
		{Name: "roles", Run: r.openSession},
		{Name: "security group", Run: r.ensureGroup},
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "roles", Run: r.openSessionOfRecord},
		{Name: "security group", Run: r.deleteGroup},
		{Name: "settling", Run: r.settle},
		{Name: "finalizer", Run: r.release},
	}
	return r
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	// Our own writes of the status must not start a pass.
	news := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
	return ctrl.NewControllerManagedBy(mgr).Named("workersecuritygroup").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(news)).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, 5*time.Minute)}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
}

// Reconcile brings the security group of one cluster closer to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	steps := r.live
	switch {
	case !hcp.DeletionTimestamp.IsZero():
		if !controllerutil.ContainsFinalizer(hcp, hyperv1.ControlPlaneOperatorFinalizer) {
			return ctrl.Result{}, nil
		}
		steps = r.dying
	case hcp.Unreadable() != "", hcp.Spec.Platform.AWS == nil:
		return ctrl.Result{}, nil // the hostedcontrolplane controller says so
	default:
		if paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now()); paused {
			return ctrl.Result{RequeueAfter: remaining}, nil
		}
	}
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	s := &scope{hcp: hcp, status: status}
	report := reconcile.Run(ctx, s, steps...)
	r.summarize(s, report)
	result, err := report.Result(status.Write(ctx))
	if err == nil && result.RequeueAfter == 0 && hcp.DeletionTimestamp.IsZero() && s.groups != nil {
		result.RequeueAfter = r.untilLook(s)
	}
	return result, err
}

// scope is what one pass has learned, and by which step.
type scope struct {
	hcp    *hyperv1.HostedControlPlane
	status *reconcile.Writer[*hyperv1.HostedControlPlane]

	groups *securitygroup.Manager // openSession
}
