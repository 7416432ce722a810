package nodepool

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what a Reconciler needs.
type Options struct {
	// Client reads through the cache, which holds our own objects only.
	Client client.Client
	// Reader reads the user's ConfigMaps, and what may not be in the cache yet.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	Releases release.Resolver
	// InstanceTypes is nil if this installation may not ask EC2.
	InstanceTypes InstanceTypes

	// Resync is how long a pool at rest is left alone; jitter is added.
	Resync time.Duration
}

// lookAgain is how soon to look at what no watch tells of and somebody may
// change any time: the user's ConfigMaps and Secrets.
const lookAgain = 30 * time.Second

// Reconciler drives NodePools.
type Reconciler struct {
	Options
	apply *apply.Applier
	// missing names what the management cluster lacks. Filled by SetupWithManager.
	missing string

	live, paused, dying []reconcile.Step[*scope]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	r := &Reconciler{Options: o, apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator)}
	configuration := reconcile.Step[*scope]{Name: "the configuration", Condition: hyperv1.NodePoolValidConfigurationCondition, Run: r.checkConfiguration}
	r.live = []reconcile.Step[*scope]{
		configuration,
		{Name: "the finalizer", Run: r.addFinalizer},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "the update management", Condition: hyperv1.NodePoolUpdateManagementEnabledCondition, Run: r.checkManagement},
			reconcile.Step[*scope]{Name: "the release", Condition: hyperv1.NodePoolValidReleaseImageCondition, Run: r.resolveRelease},
			reconcile.Step[*scope]{Name: "the node configuration", Condition: hyperv1.NodePoolValidMachineConfigCondition, Run: r.resolveConfig},
			reconcile.Step[*scope]{Name: "the tuning", Condition: hyperv1.NodePoolValidTuningConfigCondition, Run: r.checkTuning},
			reconcile.Step[*scope]{Name: "the health check", Condition: hyperv1.NodePoolAutorepairEnabledCondition, Run: r.resolveHealthCheck},
		),
		reconcile.Group(
			reconcile.Step[*scope]{Name: "the version", Condition: hyperv1.NodePoolSupportedVersionSkewCondition, Run: r.checkVersion},
			reconcile.Step[*scope]{Name: "the architecture", Condition: hyperv1.NodePoolValidArchPlatformCondition, Run: r.checkArch},
			reconcile.Step[*scope]{Name: "the machine image", Condition: hyperv1.NodePoolValidPlatformImageCondition, Run: r.resolveImage},
			reconcile.Step[*scope]{Name: "the instance type", Condition: hyperv1.NodePoolValidPlatformConfigCondition, Run: r.checkInstanceType},
			reconcile.Step[*scope]{Name: "the security group", Condition: hyperv1.NodePoolAWSSecurityGroupAvailableCondition, Run: r.resolveSecurityGroup},
		),
		{Name: "the control plane's namespace", Run: r.checkNamespace},
		{Name: "what all nodes of the cluster have", Run: r.resolveClusterWide},
		{Name: "the machine template", Condition: hyperv1.NodePoolValidMachineTemplateCondition, Run: r.ensureTemplate},
		{Name: "the user data", Condition: hyperv1.NodePoolValidGeneratedPayloadCondition, Run: r.ensureBootstrap},
		{Name: "the end of a pause", Run: r.unpauseChildren},
		{Name: "the MachineDeployment", Run: r.ensureDeployment},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "tags and security groups of machines", Run: r.updateMachines},
			reconcile.Step[*scope]{Name: "old templates", Run: r.prune},
		),
	}
	r.paused = []reconcile.Step[*scope]{
		configuration,
		{Name: "the pause", Run: r.pauseChildren},
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "the end of a pause", Run: r.unpauseChildren},
		{Name: "the MachineDeployment", Run: r.deleteDeployment},
		{Name: "the machines", Run: r.deleteMachines},
		{Name: "the templates", Run: r.deleteTemplates},
		{Name: "the finalizer", Run: r.removeFinalizer},
	}
	return r
}

// Reconcile drives one NodePool, or what one has left that went without us.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	np := &hyperv1.NodePool{}
	err := r.Client.Get(ctx, req.NamespacedName, np)
	if apierrors.IsNotFound(err) {
		return r.reconcileLost(ctx, req.NamespacedName)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	s, err := r.gather(ctx, np)
	if err != nil {
		return ctrl.Result{}, err
	}
	s.status = reconcile.NewWriter(r.Client, r.Reader, np, names.HypershiftOperator, func(np *hyperv1.NodePool) any { return np.Status })
	report := reconcile.Run(ctx, s, r.stepsFor(s)...)
	r.summarize(s, report)
	res, err := report.Result(s.status.Write(ctx))
	if err != nil {
		return res, err
	}
	return r.comeBack(s, res), nil
}

func (r *Reconciler) stepsFor(s *scope) []reconcile.Step[*scope] {
	switch {
	case s.dying() && r.missing != "":
		return r.dying[len(r.dying)-1:] // of kinds that are not there nothing can be left
	case s.dying():
		return r.dying
	case s.paused:
		return r.paused
	}
	return r.live
}

// comeBack adds the looks at what no watch tells of: the user's ConfigMaps, a
// release that was moved to another image, the end of a pause.
func (r *Reconciler) comeBack(s *scope, res ctrl.Result) ctrl.Result {
	again := r.Resync
	if len(s.np.Spec.Config)+len(s.np.Spec.TuningConfig) > 0 && !s.paused {
		again = min(again, lookAgain)
	}
	if res.RequeueAfter == 0 {
		res.RequeueAfter = wait.Jitter(again, 0.2)
	}
	if s.paused && s.pauseLeft > 0 {
		res.RequeueAfter = min(res.RequeueAfter, s.pauseLeft)
	}
	return res
}

func (r *Reconciler) addFinalizer(ctx context.Context, s *scope) error {
	return s.status.AddFinalizer(ctx, hyperv1.HostedClusterFinalizer)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return reconcile.RemoveFinalizer(ctx, r.Client, s.np, hyperv1.HostedClusterFinalizer)
}

// checkNamespace waits for the place in which machines are made.
func (r *Reconciler) checkNamespace(_ context.Context, s *scope) error {
	ns := s.namespace
	ours := ns != nil && ns.Labels[hyperv1.HostedClusterUIDLabel] == string(s.hc.UID) && ns.DeletionTimestamp.IsZero()
	if !ours || s.hc.Spec.InfraID == "" {
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for HostedCluster %s to have its namespace %s: its conditions say what that waits for", s.hc.Name, s.controlPlane)
	}
	return nil
}
