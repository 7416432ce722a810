package awsprivatelink

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/consistency"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
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
	Sessions *identity.Sessions
	// KeyReady reports whether the key that signs the operator's tokens exists; it
	// returns tokensigner.ErrNoKey as long as there is none.
	KeyReady func(context.Context) error
	// ResyncPeriod is how often AWS is compared with the desired state although nothing
	// has changed in the cluster.
	ResyncPeriod time.Duration
}

// Reconciler connects the VPC of a cluster to an AWSEndpointService.
type Reconciler struct {
	Options
	apply   *apply.Applier
	window  *consistency.Window
	backoff *backoff
}

// Controller reconciles AWSEndpointServices.
type Controller = reconcile.Controller[*hyperv1.AWSEndpointService, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{
		Options: opts,
		apply:   apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator),
		window:  consistency.NewWindow(opts.Clock),
		backoff: newBackoff(),
	}
	live := []reconcile.Step[*scope]{
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
		{Name: "unsupported zones", Run: r.checkSubnets},
	}
	deleting := []reconcile.Step[*scope]{
		{Name: "roles", Run: r.openAccountOfRecord},
		{Name: "private names", Run: r.deletePrivateNames},
		{Name: "records", Run: r.deleteRecords},
		{Name: "endpoint", Run: r.deleteEndpoint},
		{Name: "security group", Run: r.deleteSecurityGroup},
		{Name: "eventual consistency", Run: r.awaitConsistency},
		{Name: "sweep", Run: r.sweep},
		{Name: "finalizer", Run: r.release},
	}
	return &Controller{
		Name: "awsendpointservice", Client: opts.Client, Reader: opts.Reader, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.deleting() {
				return deleting
			}
			return live
		},
		FieldOwner: names.ControlPlaneOperator, Conditions: []string{hyperv1.AWSEndpointAvailable}, Fields: fields,
		Summary: func(*scope) string { return hyperv1.AWSEndpointAvailable },
		Status:  summarize,
		Written: func(s *scope) { r.reportTransition(s.es, s.was) },
		Resync: func(s *scope) time.Duration {
			switch {
			case s.deleting():
				return 0
			case s.account == nil:
				return r.ResyncPeriod
			}
			return s.account.untilResync()
		},
		MaxBackoff: 5 * time.Minute,
		Workers:    len(offered),
	}
}

// scope is what one reconcile knows. The last word of a comment is the step that sets it.
type scope struct {
	es     *hyperv1.AWSEndpointService
	was    hyperv1.AWSEndpointServiceStatus // as the reconcile began
	status *reconcile.Writer[*hyperv1.AWSEndpointService]

	hcp     *hyperv1.HostedControlPlane // resolveControlPlane
	cleanup *hyperv1.AWSEndpointCleanup // record, or as recorded
	account *account                    // openAccount
	subnets choice                      // resolveSubnets
	target  string                      // ensureEndpoint: the DNS name of the endpoint
}

// scope skips an object whose customer's half is deleted, and those of a paused cluster.
func (r *Reconciler) scope(ctx context.Context, es *hyperv1.AWSEndpointService, status *reconcile.Writer[*hyperv1.AWSEndpointService]) (*scope, error) {
	s := &scope{es: es, was: *es.Status.DeepCopy(), status: status}
	if s.deleting() {
		if !controllerutil.ContainsFinalizer(es, hyperv1.ControlPlaneOperatorFinalizer) {
			return nil, reconcile.Skip(0) // the hypershift-operator has not deleted its half yet
		}
		return s, nil
	}
	paused, remaining, err := r.paused(ctx, es)
	if err != nil {
		return nil, err
	}
	if paused {
		return nil, reconcile.Skip(remaining)
	}
	return s, nil
}

func (s *scope) deleting() bool { return !s.es.DeletionTimestamp.IsZero() }

// role is the value of the role tag of everything that this object has in AWS.
func (s *scope) role() string { return s.es.Name + roleSuffix }

// isEndpointRole is true for the role tags of AWSEndpointServices. The cluster has
// other resources in the VPC, which stay while there are workers.
func isEndpointRole(role string) bool { return strings.HasSuffix(role, roleSuffix) }

const roleSuffix = "-endpoint"
