package nodejoin

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/neighbours"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	Clock  clock.PassiveClock
	// Instances returns a client of EC2 with the role of the cluster's machines.
	Instances func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (instance.API, error)
	// KeyReady returns tokensigner.ErrNoKey as long as there is no key to sign tokens with.
	KeyReady func(context.Context) error
	// Refused returns why the certificate request of a Machine is not approved, or "".
	Refused func(machine string) string
}

// Reconciler examines the machines of a control plane.
type Reconciler struct {
	Options
	// known are the last findings, by UID of the Machine. One reconcile runs at a time.
	known map[types.UID]finding
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, known: map[types.UID]finding{}}
	steps := []reconcile.Step[*scope]{
		{Name: "machines without a node", Run: r.findLate},
		{Name: "instances", Run: r.examine},
	}
	return &Controller{
		Name: "nodejoin", Client: opts.Client, Clock: opts.Clock,
		Scope: func(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
			if hcp.Unreadable() != "" || hcp.Spec.Platform.AWS == nil {
				return nil, reconcile.Skip(0)
			}
			paused, remaining := hcp.Spec.PausedUntil.Paused(opts.Clock.Now())
			if paused {
				return nil, reconcile.Skip(remaining)
			}
			if hcp.Sleeps() {
				return nil, reconcile.Skip(0) // no machine can join
			}
			return &scope{hcp: hcp}, nil
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if !s.hcp.DeletionTimestamp.IsZero() {
				return nil
			}
			return steps
		},
		Store: opts.Status,
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{MachinesWithoutNode: hcp.Status.MachinesWithoutNode}
		},
		Status: func(s *scope, report reconcile.Report, _ *reconcile.Conditions) {
			if len(report) == 0 || report[0].Err == nil {
				s.hcp.Status.MachinesWithoutNode = r.found(s)
			}
		},
		NoLaterThan: func(s *scope) time.Duration { return s.next },
	}
}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	MachinesWithoutNode []hyperv1.MachineWithoutNode `json:"machinesWithoutNode,omitempty"`
}

// scope holds the facts of one reconcile.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// late are the machines to report on. Filled by findLate.
	late []machine
	// next is when something may have changed; 0 for never.
	next time.Duration
}

func (s *scope) comeBack(after time.Duration) {
	if s.next == 0 || after < s.next {
		s.next = after
	}
}

// Setup starts the controller with the manager, unless the management cluster does not serve Machines. A controller that
// watches a kind which is not served ends the process. Where Cluster API is installed later, the controller starts with the
// next start of the operator.
func Setup(mgr ctrl.Manager, opts Options) error {
	_, err := mgr.GetRESTMapper().RESTMapping(clusterv1.GroupVersion.WithKind("Machine").GroupKind(), clusterv1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finding out whether the management cluster serves Machines: %w", err)
	}
	c := New(opts)
	ofMachine := neighbours.Handler(opts.Client)
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Machine{}, ofMachine, builder.WithPredicates(joins)).
		Complete(c)
}

// joins passes the changes of a machine that make it late, or a node.
var joins = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	state := func(obj client.Object) any {
		m := obj.(*clusterv1.Machine)
		since, started := startedAt(m)
		return []any{since, started}
	}
	return !reflect.DeepEqual(state(e.ObjectOld), state(e.ObjectNew))
}}
