package awsprivatelink

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are what both controllers of this package need.
type Options struct {
	Client client.Client
	// Reader reads past the cache.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Sessions *session.Sessions
	// KeyReady says whether there is a key to sign our identity with; it
	// returns identity.ErrNoKey as long as there is none.
	KeyReady func(context.Context) error
	// ResyncPeriod is how often AWS is compared with what we want although
	// nothing has changed on our side.
	ResyncPeriod time.Duration
}

// resyncJitter keeps apart the clusters that were started together. It only
// adds: the budget of calls holds in the worst case too.
const resyncJitter = 0.2

// Reconciler drives an AWSEndpointService on the customer's side.
type Reconciler struct {
	Options
	apply       *apply.Applier
	accounts    *accounts
	pace        *pace
	live, dying []reconcile.Step[*scope]
}

// New returns a Reconciler that knows nothing yet.
func New(opts Options) *Reconciler {
	r := &Reconciler{
		Options:  opts,
		apply:    apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator),
		accounts: newAccounts(opts.Sessions, opts.Clock),
		pace:     newPace(),
	}
	r.live = []reconcile.Step[*scope]{
		{Name: "control plane", Run: r.resolveControlPlane},
		{Name: "record", Run: r.record},
		{Name: "roles", Run: r.openAccount},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "security group", Run: r.ensureSecurityGroup},
			reconcile.Step[*scope]{Name: "subnets", Run: r.resolveSubnets},
		),
		{Name: "endpoint", Run: r.ensureEndpoint},
		{Name: "records", Run: r.ensureRecords},
		{Name: "private names", Run: r.ensurePrivateNames},
		{Name: "verdict", Run: r.checkSubnets},
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "roles", Run: r.openAccountOfRecord},
		{Name: "private names", Run: r.deletePrivateNames},
		{Name: "records", Run: r.deleteRecords},
		{Name: "endpoint", Run: r.deleteEndpoint},
		{Name: "security group", Run: r.deleteSecurityGroup},
		{Name: "settling", Run: r.settle},
		{Name: "sweep", Run: r.sweep},
		{Name: "finalizer", Run: r.release},
	}
	return r
}

// Reconcile brings one AWSEndpointService closer to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, es *hyperv1.AWSEndpointService) (ctrl.Result, error) {
	steps := r.live
	if !es.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(es, hyperv1.ControlPlaneOperatorFinalizer) {
			return ctrl.Result{}, nil // our half is gone; the other operator is not done
		}
		steps = r.dying
	} else if paused, remaining, err := r.paused(ctx, es); paused || err != nil {
		return ctrl.Result{RequeueAfter: remaining}, err
	}

	was := es.Status.DeepCopy()
	status := reconcile.NewWriter(r.Client, r.Reader, es, names.ControlPlaneOperator, ourHalf)
	s := &scope{es: es, status: status}
	report := reconcile.Run(ctx, s, steps...)
	r.summarize(s, report)
	written := status.Write(ctx)
	if written == nil {
		r.tellTurn(es, *was)
	}
	result, err := report.Result(written)
	if err == nil && result.RequeueAfter == 0 && es.DeletionTimestamp.IsZero() {
		result.RequeueAfter = r.untilResync(s)
	}
	return result, err
}

func (r *Reconciler) untilResync(s *scope) time.Duration {
	if s.account == nil {
		return wait.Jitter(r.ResyncPeriod, resyncJitter)
	}
	return s.account.untilResync()
}

// scope is what one pass has learned, and by which step.
type scope struct {
	es     *hyperv1.AWSEndpointService
	status *reconcile.Writer[*hyperv1.AWSEndpointService]

	hcp     *hyperv1.HostedControlPlane // resolveControlPlane
	cleanup *hyperv1.AWSEndpointCleanup // record, or as recorded
	account *account                    // openAccount
	subnets choice                      // resolveSubnets
	target  string                      // ensureEndpoint: the DNS name of the endpoint
}

// role is the value of the role tag of everything that this object has in AWS.
func (s *scope) role() string { return s.es.Name + roleSuffix }

// isEndpointRole says whether an object of this kind had that role. The cluster
// has other things in the VPC, which stay while there are workers.
func isEndpointRole(role string) bool { return strings.HasSuffix(role, roleSuffix) }

const roleSuffix = "-endpoint"
