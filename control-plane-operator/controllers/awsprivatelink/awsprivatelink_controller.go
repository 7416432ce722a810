package awsprivatelink

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure both controllers of this package.
type Options struct {
	Client client.Client
	// Reader reads past the cache.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Sessions *identity.Sessions
	// KeyReady reports whether the key that signs the operator's tokens exists; it returns tokensigner.ErrNoKey as long as the key is
	// missing.
	KeyReady func(context.Context) error
	// ResyncPeriod is how often AWS is compared with the desired state although the cluster is unchanged.
	ResyncPeriod time.Duration
}

// Reconciler connects the VPC of a cluster to an AWSEndpointService.
type Reconciler struct {
	Options
	apply  *apply.Applier
	ledger *ledger.Ledger[*scope]
}

// Controller reconciles AWSEndpointServices.
type Controller = reconcile.Controller[*hyperv1.AWSEndpointService, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
	r.ledger = r.newLedger()
	live := slices.Concat(
		[]reconcile.Step[*scope]{{Name: "control plane", Run: r.resolveControlPlane}},
		r.ledger.Live(),
		[]reconcile.Step[*scope]{{Name: "unsupported zones", Run: r.checkSubnets}},
	)
	deleting := r.ledger.Deleting()
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
			return s.account.untilResync(r.resyncPeriod(s.hcp))
		},
		NoLaterThan: func(s *scope) time.Duration { return s.publishAfter },
		MaxBackoff:  5 * time.Minute,
		Workers:     len(offered),
	}
}

// scope holds the facts of one reconcile. The last word of a comment is the step that sets it.
type scope struct {
	es     *hyperv1.AWSEndpointService
	was    hyperv1.AWSEndpointServiceStatus // as the reconcile began
	status *reconcile.Writer[*hyperv1.AWSEndpointService]

	hcp      *hyperv1.HostedControlPlane // resolveControlPlane
	cleanup  *hyperv1.AWSEndpointCleanup // openAccount
	account  *account                    // openAccount
	subnets  choice                      // resolveSubnets
	endpoint endpoint.Endpoint           // ensureEndpoint
	// publishAfter is when the records may change, 0 if they need not.
	publishAfter time.Duration // publishes
}

// scope skips an object after the control-plane-operator's finalizer is removed, and the objects of a paused cluster.
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
