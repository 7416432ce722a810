package hostedclusterresources

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Owner is the field owner of this controller's part of the status.
const Owner = "control-plane-operator-guest"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads Machines past the cache: they are asked rarely.
	Reader client.Reader
	Scheme *runtime.Scheme
	// Recorder tells of nodes that do not follow.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Releases tells which images the payload has.
	Releases release.Resolver
	// Interval is how often the hosted cluster is compared with what it should
	// be although nothing here has changed.
	Interval time.Duration
	// ReadLog reads a line of a pod's log; nil for the usual way.
	ReadLog func(ctx context.Context, config *rest.Config, namespace, pod string) error
	// Open makes a client of the hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.WithWatch, error)
}

// patience is how long a pass may take. An API server that is gone without a
// word must not hold it for minutes.
const patience = 30 * time.Second

// jitter keeps apart the operators that were started together.
const jitter = 0.2

// Reconciler keeps a hosted cluster as it should be.
type Reconciler struct {
	Options
	live, dying []reconcile.Step[*scope]
	// doors are the ways into hosted clusters. One pass runs at a time.
	doors map[types.UID]*door
	ears  *ears
}

// New returns a Reconciler that knows no hosted cluster yet.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, doors: map[types.UID]*door{}, ears: newEars()}
	if r.Open == nil {
		r.Open = open(opts.Scheme)
	}
	if r.ReadLog == nil {
		r.ReadLog = readLog
	}
	parts := []reconcile.Step[*scope]{
		{Name: "client certificates", Run: r.approveJoining},
		{Name: "serving certificates", Run: r.approveServing},
		{Name: "nodes", Run: r.countNodes},
		{Name: "connection", Run: r.checkConnection},
		{Name: "kubelets", Run: r.checkKubelets},
		{Name: "watches", Run: r.listen},
		{Name: "followers", Run: r.awaitNodes},
	}
	for _, p := range contents {
		parts = append(parts, reconcile.Step[*scope]{Name: p.name, Run: func(ctx context.Context, s *scope) error { return r.ensure(ctx, s, p) }})
	}
	r.live = []reconcile.Step[*scope]{
		{Name: "API server", Run: r.enter},
		{Name: "permissions", Run: r.ensurePermissions},
		reconcile.Group(parts...),
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "API server", Run: r.enter},
		{Name: "permissions", Run: r.ensurePermissions},
		{Name: "admission", Run: r.blockCreation},
		{Name: "cloud resources", Run: r.removeCloudResources},
	}
	return r
}

// scope is what one pass has learned, and by which step.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// hosted is the way into the hosted cluster. Filled by enter.
	hosted *door
	// payload is filled by whoever needs it first.
	payload *release.Release
	// nodes, requests and joins are where watches of them have to begin. Filled by
	// countNodes, approveServing and approveJoining.
	nodes, requests, joins string
	// looked says that removeCloudResources knows what is left.
	looked bool
	// again is when to come back although nothing is wrong, 0 for the usual time.
	again time.Duration
}

// comeBack has the next pass come after that long, or sooner if another step needs it.
func (s *scope) comeBack(after time.Duration) {
	if s.again == 0 || after < s.again {
		s.again = after
	}
}

// cleaning says whether the cluster is to be emptied, before its API server goes.
func (s *scope) cleaning() bool {
	return s.hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes && s.hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == yes
}

const yes = "true"

// Reconcile brings one hosted cluster closer to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if !hcp.DeletionTimestamp.IsZero() {
		r.leave(hcp.UID)
		return ctrl.Result{}, nil
	}
	if hcp.Unreadable() != "" {
		return ctrl.Result{}, nil // the hostedcontrolplane controller says so
	}
	s := &scope{hcp: hcp}
	steps := r.live
	paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	switch {
	case s.cleaning():
		steps = r.dying
	case hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes:
		return ctrl.Result{}, nil // nobody will use what we would make
	case paused:
		return ctrl.Result{RequeueAfter: remaining}, nil
	}
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	report := r.run(ctx, s, steps)
	r.summarize(s, report)
	r.distrust(s, report)
	result, err := report.Result(status.Write(ctx))
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = wait.Jitter(r.Interval, jitter)
	}
	if s.again > 0 && err == nil {
		result.RequeueAfter = min(result.RequeueAfter, s.again)
	}
	return result, err
}

func (r *Reconciler) run(ctx context.Context, s *scope, steps []reconcile.Step[*scope]) reconcile.Report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reconcile.Run(ctx, s, steps...)
}
