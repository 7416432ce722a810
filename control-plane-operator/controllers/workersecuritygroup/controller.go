package workersecuritygroup

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status   *controlplanestatus.Store
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Sessions *identity.Sessions
	// KeyReady returns tokensigner.ErrNoKey as long as there is no key to sign with.
	KeyReady func(context.Context) error
	// ResyncPeriod is how often the controller of the endpoints reads the security
	// groups of the cluster. It adds jitter.
	ResyncPeriod time.Duration
}

// Reconciler drives the security group of a cluster's workers.
type Reconciler struct {
	Options
	ledger *ledger.Ledger[*scope]
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts}
	r.ledger = r.newLedger()
	live := append([]reconcile.Step[*scope]{{Name: "platform", Run: r.checkPlatform}}, r.ledger.Live()...)
	deleting := r.ledger.Deleting()
	handedOver := []reconcile.Step[*scope]{{Name: "finalizer", Run: r.leave}}
	return &Controller{
		Name: "workersecuritygroup", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.deleting() && s.hcp.IsHandedOver():
				return handedOver
			case s.deleting():
				return deleting
			}
			return live
		},
		Store: opts.Status, Conditions: []string{hyperv1.AWSDefaultSecurityGroupCreated, hyperv1.AWSDefaultSecurityGroupDeleted},
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{Platform: hcp.Status.Platform, WorkerSecurityGroup: hcp.Status.WorkerSecurityGroup}
		},
		Summary: func(s *scope) string {
			if s.deleting() {
				return hyperv1.AWSDefaultSecurityGroupDeleted
			}
			return hyperv1.AWSDefaultSecurityGroupCreated
		},
		Resync: func(s *scope) time.Duration {
			if s.deleting() || s.groups == nil {
				return 0
			}
			return r.untilRefresh(s)
		},
		MaxBackoff: 5 * time.Minute,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	// Our own writes of the status must not lead to a reconcile.
	news := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
	c := New(opts)
	opts.Status.Finalizer(hyperv1.ControlPlaneOperatorFinalizer, func(hcp *hyperv1.HostedControlPlane) bool {
		return hcp.Unreadable() == "" && hcp.Spec.Platform.AWS != nil && vpc(hcp) != ""
	})
	return c.Builder(mgr).For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(news)).Complete(c)
}

// scope holds the facts of one reconcile.
type scope struct {
	hcp    *hyperv1.HostedControlPlane
	status *reconcile.Writer[*hyperv1.HostedControlPlane]

	groups *securitygroup.Manager // openSession
}

func (s *scope) deleting() bool { return !s.hcp.DeletionTimestamp.IsZero() }

// scope skips control planes without a security group on AWS, and paused ones. The
// hostedcontrolplane controller reports an object that cannot be read.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, status *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	switch {
	case !hcp.DeletionTimestamp.IsZero():
		if !controllerutil.ContainsFinalizer(hcp, hyperv1.ControlPlaneOperatorFinalizer) {
			return nil, reconcile.Skip(0)
		}
	case hcp.Unreadable() != "", hcp.Spec.Platform.AWS == nil:
		return nil, reconcile.Skip(0)
	default:
		if paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now()); paused {
			return nil, reconcile.Skip(remaining)
		}
	}
	return &scope{hcp: hcp, status: status}, nil
}

// leave leaves the group to the management cluster that has taken the cluster over.
func (r *Reconciler) leave(ctx context.Context, s *scope) error {
	return s.status.RemoveFinalizer(ctx, hyperv1.ControlPlaneOperatorFinalizer)
}

// checkPlatform checks that the VPC of the workers is known.
func (r *Reconciler) checkPlatform(_ context.Context, s *scope) error {
	if vpc(s.hcp) == "" {
		return reconcile.Block(hyperv1.VPCNotNamedReason, "the HostedCluster names no VPC for its workers: set platform.aws.cloudProviderConfig.vpc")
	}
	return nil
}

// vpc returns the VPC of the workers on AWS, or "" if the HostedCluster does not name it.
func vpc(hcp *hyperv1.HostedControlPlane) string {
	if config := hcp.Spec.Platform.AWS.CloudProviderConfig; config != nil {
		return config.VPC
	}
	return ""
}
