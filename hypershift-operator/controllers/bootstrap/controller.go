package bootstrap

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader asks the API server, for Secrets and ConfigMaps that are not cached.
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
	live  []reconcile.Step[*scope]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	r := &Reconciler{Options: o, apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator)}
	r.live = []reconcile.Step[*scope]{
		{Name: "the user data", Condition: hyperv1.NodeBootstrapDataSecretCreatedCondition, Run: r.ensure},
	}
	return r
}

// scope is what one pass knows.
type scope struct {
	nb *hyperv1.NodeBootstrap
	// hcp is nil if there is none.
	hcp *hyperv1.HostedControlPlane
	// paused says that nothing may be changed, for pauseLeft if that is not 0.
	paused    bool
	pauseLeft time.Duration

	// machine owns the NodeBootstrap. Filled by resolveMachine.
	machine *clusterv1.Machine
	// config is what users ask of the pool's nodes, node what this one is told. Filled by resolveInputs and others.
	config nodeconfig.Config
	node   nodeconfig.Machine
	// token is the newest one, to be renewed after renewal. Filled by ensureToken.
	token   token
	renewal time.Duration
}

// Reconcile drives one NodeBootstrap.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nb := &hyperv1.NodeBootstrap{}
	if err := r.Client.Get(ctx, req.NamespacedName, nb); err != nil {
		if err = client.IgnoreNotFound(err); err == nil {
			err = r.sweep(ctx, req.NamespacedName)
		}
		return ctrl.Result{}, err
	}
	if !nb.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.revoke(ctx, nb)
	}
	s, err := r.gather(ctx, nb)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := reconcile.NewWriter(r.Client, r.Reader, nb, names.HypershiftOperator, func(nb *hyperv1.NodeBootstrap) any { return nb.Status })
	var report reconcile.Report
	if !s.paused {
		report = reconcile.Run(ctx, s, r.live...)
	}
	r.summarize(s, report)
	res, err := report.Result(status.Write(ctx))
	if err == nil && res.RequeueAfter == 0 {
		res.RequeueAfter = max(s.pauseLeft, s.renewal)
	}
	return res, err
}

// gather reads what the pass is about.
func (r *Reconciler) gather(ctx context.Context, nb *hyperv1.NodeBootstrap) (*scope, error) {
	s := &scope{nb: nb}
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

// ensure makes the user data of a machine, or takes the secret out of it.
func (r *Reconciler) ensure(ctx context.Context, s *scope) error {
	if problem := s.nb.Unreadable(); problem != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "the object cannot be read: %s", problem)
	}
	if err := r.resolveMachine(ctx, s); err != nil {
		return err
	}
	switch {
	case !s.machine.DeletionTimestamp.IsZero():
		return r.revoke(ctx, s.nb)
	case s.machine.Status.NodeRef.IsDefined():
		return r.disarm(ctx, s)
	}
	for _, step := range []func(context.Context, *scope) error{r.resolveServer, r.resolveInputs, r.ensureToken, r.ensureUserData} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// judge knows the errors of the API server only, which say nothing about the machine.
var judge = reconcile.Classifier{
	Transient: func(error) bool { return true },
	Reason:    func(error) string { return hyperv1.ReconciliationErrorReason },
	Message:   func(err error) string { return err.Error() },
}

// summarize puts what the pass has found into the conditions.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	now, conds := r.Clock.Now(), s.nb.Status.Conditions
	conds = reconcile.FromReport(report, judge, conds, s.nb.Generation, now)
	if created := meta.FindStatusCondition(conds, hyperv1.NodeBootstrapDataSecretCreatedCondition); created != nil {
		ready := *created
		ready.Type = hyperv1.NodeBootstrapReadyCondition
		reconcile.SetCondition(&conds, ready, now)
	}
	pause := metav1.Condition{
		Type: hyperv1.NodeBootstrapPausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason,
		Message: "Nobody has asked for a pause", ObservedGeneration: s.nb.Generation,
	}
	if s.paused {
		pause.Status, pause.Reason, pause.Message = metav1.ConditionTrue, clusterv1.PausedReason, "The HostedCluster or this object is paused"
	}
	reconcile.SetCondition(&conds, pause, now)
	s.nb.Status.Conditions = conds
	s.nb.Status.ObservedGeneration = s.nb.Generation
}
