package bootstrap

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads Secrets and ConfigMaps that are not cached.
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Random is where tokens come from.
	Random io.Reader
}

// Reconciler makes the user data of machines.
type Reconciler struct {
	Options
	apply *apply.Applier
}

func newReconciler(o Options) *Reconciler {
	return &Reconciler{Options: o, apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator)}
}

// Controller reconciles NodeBootstraps.
type Controller = reconcile.Controller[*hyperv1.NodeBootstrap, *scope]

// New returns the controller.
func New(o Options) *Controller { return newReconciler(o).controller() }

func (r *Reconciler) controller() *Controller {
	live := []reconcile.Step[*scope]{
		{Name: "Machine", Run: r.resolveMachine},
		{Name: "removal of the secrets", Run: r.removeSecrets},
		{Name: "API server address", Run: joining(r.resolveServer)},
		{Name: "node configuration", Run: joining(r.resolveInputs)},
		{Name: "bootstrap token", Run: joining(r.ensureToken)},
		{Name: "user data", Run: joining(r.ensureUserData)},
	}
	deleting := []reconcile.Step[*scope]{
		{Name: "bootstrap tokens", Run: func(ctx context.Context, s *scope) error { return r.revoke(ctx, s.nb) }},
	}
	return &Controller{
		Name: "nodebootstrap", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Gone:  r.sweep,
		Scope: r.gather,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.deleting():
				return deleting
			case s.paused:
				return nil
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Fields: func(nb *hyperv1.NodeBootstrap) any { return nb.Status },
		Summary: func(s *scope) string {
			if s.deleting() || s.paused {
				return ""
			}
			return hyperv1.NodeBootstrapDataSecretCreatedCondition
		},
		Status: summarize,
		Classify: reconcile.Classifier{
			// The only errors come from the API server, and are no evidence about the machine.
			Transient: func(error) bool { return true },
			Reason:    func(error) string { return hyperv1.ReconciliationErrorReason },
			Message:   func(err error) string { return err.Error() },
		},
		NoLaterThan: func(s *scope) time.Duration { return max(s.pauseLeft, s.renewal) },
		MaxBackoff:  5 * time.Minute,
		Workers:     workers,
	}
}

// scope holds the facts of one reconcile.
type scope struct {
	nb *hyperv1.NodeBootstrap
	// hcp is nil if it does not exist.
	hcp *hyperv1.HostedControlPlane
	// paused is true if objects may not be changed, for pauseLeft if that is not 0.
	paused    bool
	pauseLeft time.Duration

	// machine owns the NodeBootstrap. Set by resolveMachine.
	machine *clusterv1.Machine
	// inputs are shared by all machines of the pool, and node is specific to this machine. Filled by resolveInputs and others.
	inputs nodeconfig.Inputs
	node   nodeconfig.Machine
	// token is the newest token, to be renewed after renewal. Set by ensureToken.
	token   token
	renewal time.Duration
}

func (s *scope) deleting() bool { return !s.nb.DeletionTimestamp.IsZero() }

// gather reads the facts that a reconcile needs.
func (r *Reconciler) gather(ctx context.Context, nb *hyperv1.NodeBootstrap, _ *reconcile.Writer[*hyperv1.NodeBootstrap]) (*scope, error) {
	s := &scope{nb: nb}
	if s.deleting() {
		return s, nil
	}
	var hcps hyperv1.HostedControlPlaneList
	if err := r.Client.List(ctx, &hcps, client.InNamespace(nb.Namespace)); err != nil {
		return nil, fmt.Errorf("listing control planes of namespace %s: %w", nb.Namespace, err)
	}
	if len(hcps.Items) == 1 {
		s.hcp = &hcps.Items[0]
		s.paused, s.pauseLeft = s.hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	}
	if _, paused := nb.Annotations[clusterv1.PausedAnnotation]; paused {
		s.paused, s.pauseLeft = true, 0
	}
	return s, nil
}

// joining returns a step that runs only for a machine that has not joined yet.
func joining(run func(context.Context, *scope) error) func(context.Context, *scope) error {
	return func(ctx context.Context, s *scope) error {
		if !s.machine.DeletionTimestamp.IsZero() || s.machine.Status.NodeRef.IsDefined() {
			return nil
		}
		return run(ctx, s)
	}
}

// removeSecrets removes the tokens of a machine that is being deleted, and those and
// the user data of a machine that has joined.
func (r *Reconciler) removeSecrets(ctx context.Context, s *scope) error {
	switch {
	case !s.machine.DeletionTimestamp.IsZero():
		return r.revoke(ctx, s.nb)
	case s.machine.Status.NodeRef.IsDefined():
		return r.disarm(ctx, s)
	}
	return nil
}

func summarize(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
	if s.deleting() {
		return
	}
	if created := conditions.Get(hyperv1.NodeBootstrapDataSecretCreatedCondition); created != nil {
		ready := *created
		ready.Type = hyperv1.NodeBootstrapReadyCondition
		conditions.Put(ready)
	}
	if s.paused {
		conditions.Set(hyperv1.NodeBootstrapPausedCondition, metav1.ConditionTrue, clusterv1.PausedReason, "The HostedCluster or this object is paused")
	} else {
		conditions.Set(hyperv1.NodeBootstrapPausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason, "Nobody has asked for a pause")
	}
	s.nb.Status.ObservedGeneration = s.nb.Generation
}
