package ingressrecords

import (
	"context"
	"reflect"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status   *controlplanestatus.Store
	Clock    clock.PassiveClock
	Sessions *identity.Sessions
	// KeyReady returns tokensigner.ErrNoKey as long as there is no key to sign with.
	KeyReady func(context.Context) error
	// ResyncPeriod is how often the records are read although nothing has changed in the cluster.
	ResyncPeriod time.Duration
}

// Reconciler manages the records of a cluster's applications.
type Reconciler struct{ Options }

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{opts}
	live := []reconcile.Step[*scope]{
		{Name: "target", Run: r.findTarget},
		{Name: "record", Run: r.record},
		{Name: "role", Run: r.openSession},
		{Name: "records", Run: r.ensureRecords},
		{Name: "former records", Run: r.deleteFormer},
	}
	removing := []reconcile.Step[*scope]{
		{Name: "role", Run: r.openSession},
		{Name: "records", Run: r.deleteRecords},
		{Name: "record", Run: r.forget},
	}
	handedOver := []reconcile.Step[*scope]{{Name: "finalizer", Run: r.leave}}
	return &Controller{
		Name: "ingressrecords", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.deleting() && s.hcp.IsHandedOver():
				return handedOver
			case s.wanted():
				return live
			case s.hcp.Status.IngressRecords != nil || s.deleting():
				return removing
			}
			return nil
		},
		Store: opts.Status, Conditions: []string{hyperv1.IngressRecordsAvailable},
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{IngressRecords: hcp.Status.IngressRecords}
		},
		Summary: func(s *scope) string {
			if s.wanted() || s.hcp.Status.IngressRecords != nil {
				return hyperv1.IngressRecordsAvailable
			}
			return ""
		},
		Status: report,
		Resync: func(s *scope) time.Duration {
			if !s.wanted() {
				return 0
			}
			return r.ResyncPeriod
		},
		MaxBackoff: 5 * time.Minute,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	news := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !reflect.DeepEqual(relevant(e.ObjectOld.(*hyperv1.HostedControlPlane)), relevant(e.ObjectNew.(*hyperv1.HostedControlPlane)))
	}}
	c := New(opts)
	return c.Builder(mgr).For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(news)).Complete(c)
}

func relevant(hcp *hyperv1.HostedControlPlane) any {
	return []any{hcp.Generation, hcp.DeletionTimestamp.IsZero(), hcp.Status.Ingress}
}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	IngressRecords *hyperv1.IngressRecordsRecord `json:"ingressRecords,omitempty"`
}

// scope holds the facts of one reconcile.
type scope struct {
	hcp    *hyperv1.HostedControlPlane
	status *reconcile.Writer[*hyperv1.HostedControlPlane]

	// want is the desired state. Set by findTarget.
	want hyperv1.IngressRecordsRecord
	// session is that of the recorded role. Set by openSession.
	session *identity.Session
}

func (s *scope) deleting() bool { return !s.hcp.DeletionTimestamp.IsZero() }

// wanted reports whether the cluster is to have records.
func (s *scope) wanted() bool {
	return !s.deleting() && s.hcp.HasIngress() && s.hcp.IngressPublishing().HasRecords()
}

// scope skips clusters without records, past and present, and paused ones.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, status *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	switch {
	case !hcp.DeletionTimestamp.IsZero():
		if !controllerutil.ContainsFinalizer(hcp, hyperv1.IngressRecordsFinalizer) {
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

// leave leaves the records to the management cluster that has taken the cluster over.
func (r *Reconciler) leave(ctx context.Context, s *scope) error {
	return s.status.RemoveFinalizer(ctx, hyperv1.IngressRecordsFinalizer)
}

// openSession opens the session of the recorded role.
func (r *Reconciler) openSession(ctx context.Context, s *scope) (err error) {
	record := s.hcp.Status.IngressRecords
	if record == nil {
		return nil
	}
	s.session, err = tokensigner.Session(ctx, r.KeyReady, r.Sessions, identity.Target{
		Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN, Subject: names.IngressSubject,
	})
	return err
}

// report sets the condition of a cluster that is to have no records.
func report(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
	switch {
	case s.wanted() || s.hcp.Status.IngressRecords != nil:
	case s.hcp.HasIngress():
		message := "the user writes the records of applications"
		if s.hcp.IngressPublishing().Type != operatorv1.LoadBalancerServiceStrategyType {
			message = "the ingress controller has no load balancer to which records could lead"
		}
		conditions.Set(hyperv1.IngressRecordsAvailable, metav1.ConditionTrue, hyperv1.IngressRecordsUnmanagedReason, message)
	default:
		conditions.Remove(hyperv1.IngressRecordsAvailable)
	}
}
