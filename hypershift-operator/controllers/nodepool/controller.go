package nodepool

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what a Reconciler needs.
type Options struct {
	// Client reads from the cache, which has our own objects only.
	Client client.Client
	// Reader reads the user's ConfigMaps, and objects that may not be in the cache yet.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	Releases release.Resolver
	// InstanceTypes is nil if this installation may not call EC2.
	InstanceTypes InstanceTypes

	// Resync is how often a pool is reconciled although nothing has changed.
	Resync time.Duration
}

// pollInterval is how often the user's ConfigMaps and Secrets are read, which are not watched.
const pollInterval = 30 * time.Second

// Reconciler manages NodePools.
type Reconciler struct {
	Options
	apply *apply.Applier
	// missing names the CRDs that the management cluster lacks. Set by Setup.
	missing string
}

func newReconciler(o Options) *Reconciler {
	return &Reconciler{Options: o, apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator)}
}

// Controller reconciles NodePools.
type Controller = reconcile.Controller[*hyperv1.NodePool, *scope]

// New returns the controller, for a management cluster that has all CRDs.
func New(o Options) *Controller { return newReconciler(o).controller() }

func (r *Reconciler) controller() *Controller {
	configuration := reconcile.Step[*scope]{Name: "configuration", Condition: hyperv1.NodePoolValidConfigurationCondition, Run: r.checkConfiguration}
	live := []reconcile.Step[*scope]{
		configuration,
		{Name: "finalizer", Run: r.addFinalizer},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "update management", Condition: hyperv1.NodePoolUpdateManagementEnabledCondition, Run: r.checkManagement},
			reconcile.Step[*scope]{Name: "release", Condition: hyperv1.NodePoolValidReleaseImageCondition, Run: r.resolveRelease},
			reconcile.Step[*scope]{Name: "node configuration", Condition: hyperv1.NodePoolValidMachineConfigCondition, Run: r.resolveConfig},
			reconcile.Step[*scope]{Name: "tuning", Condition: hyperv1.NodePoolValidTuningConfigCondition, Run: r.checkTuning},
			reconcile.Step[*scope]{Name: "health check", Condition: hyperv1.NodePoolAutorepairEnabledCondition, Run: r.resolveHealthCheck},
		),
		reconcile.Group(
			reconcile.Step[*scope]{Name: "version", Condition: hyperv1.NodePoolSupportedVersionSkewCondition, Run: r.checkVersion},
			reconcile.Step[*scope]{Name: "architecture", Condition: hyperv1.NodePoolValidArchPlatformCondition, Run: r.checkArch},
			reconcile.Step[*scope]{Name: "machine image", Condition: hyperv1.NodePoolValidPlatformImageCondition, Run: r.resolveImage},
			reconcile.Step[*scope]{Name: "instance type", Condition: hyperv1.NodePoolValidPlatformConfigCondition, Run: r.checkInstanceType},
			reconcile.Step[*scope]{Name: "security group", Condition: hyperv1.NodePoolAWSSecurityGroupAvailableCondition, Run: r.resolveSecurityGroup},
		),
		{Name: "control plane namespace", Run: r.checkNamespace},
		{Name: "cluster-wide node settings", Run: r.resolveClusterWide},
		{Name: "machine template", Condition: hyperv1.NodePoolValidMachineTemplateCondition, Run: r.ensureTemplate},
		{Name: "user data", Condition: hyperv1.NodePoolValidGeneratedPayloadCondition, Run: r.ensureBootstrap},
		{Name: "end of the pause", Run: r.unpauseChildren},
		{Name: "MachineDeployment", Run: r.ensureDeployment},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "tags and security groups of machines", Run: r.updateMachines},
			reconcile.Step[*scope]{Name: "old templates", Run: r.prune},
			reconcile.Step[*scope]{Name: "machines that do not join", Run: r.replaceLate},
		),
	}
	paused := []reconcile.Step[*scope]{
		configuration,
		{Name: "pause", Run: r.pauseChildren},
	}
	deleting := r.deletion()
	return &Controller{
		Name: "nodepool", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Gone: r.deleteOrphans,
		Scope: func(ctx context.Context, np *hyperv1.NodePool, status *reconcile.Writer[*hyperv1.NodePool]) (*scope, error) {
			s, err := r.gather(ctx, np)
			if s != nil {
				s.status = status
			}
			return s, err
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.dying() && r.missing != "":
				return deleting[len(deleting)-1:] // there are no objects of kinds that are not served
			case s.dying():
				return deleting
			case s.paused:
				return paused
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Fields: func(np *hyperv1.NodePool) any { return np.Status },
		Spacing: reconcile.DefaultSpacing, CanWait: []string{"replicas", "selector", "version", "nodesInfo"},
		Status: r.summarize, Classify: classifier,
		Resync: func(s *scope) time.Duration {
			if len(s.np.Spec.Config)+len(s.np.Spec.TuningConfig) > 0 && !s.paused {
				return min(r.Resync, pollInterval)
			}
			return r.Resync
		},
		NoLaterThan: func(s *scope) time.Duration { return cmp.Or(s.pauseLeft, s.repair.wait) },
		MaxBackoff:  5 * time.Minute,
		Workers:     workers,
	}
}

func (r *Reconciler) deletion() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		{Name: "end of the pause", Run: r.unpauseChildren},
		{Name: "drain", Run: r.skipDrain},
		{Name: "MachineDeployment", Run: r.deleteDeployment},
		{Name: "machines", Run: r.deleteMachines},
		{Name: "templates", Run: r.deleteTemplates},
		{Name: "finalizer", Run: r.removeFinalizer},
	}
}

func (r *Reconciler) addFinalizer(ctx context.Context, s *scope) error {
	return s.status.AddFinalizer(ctx, hyperv1.HostedClusterFinalizer)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return reconcile.RemoveFinalizer(ctx, r.Client, s.np, hyperv1.HostedClusterFinalizer)
}

// checkNamespace waits for the namespace in which machines are created.
func (r *Reconciler) checkNamespace(_ context.Context, s *scope) error {
	ns := s.namespace
	ours := ns != nil && ns.Labels[hyperv1.HostedClusterUIDLabel] == string(s.hc.UID) && ns.DeletionTimestamp.IsZero()
	if !ours || s.hc.Spec.InfraID == "" {
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for HostedCluster %s to have its namespace %s: its conditions say what that waits for", s.hc.Name, s.controlPlane)
	}
	return nil
}
