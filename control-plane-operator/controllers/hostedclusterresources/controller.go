package hostedclusterresources

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	// Reader reads Machines past the cache: they are read rarely.
	Reader client.Reader
	Scheme *runtime.Scheme
	// Recorder records events about nodes that lack the next CA.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Releases resolves the images of the payload.
	Releases release.Resolver
	// Interval is how often the hosted cluster is compared with the desired state although
	// nothing in the management cluster has changed.
	Interval time.Duration
	// Refused is called with the reasons why certificate requests of machines are not approved, by name of the Machine. It
	// may be nil.
	Refused func(why map[string]string)
	// ReadLog reads a line of a pod's log; nil for the usual way.
	ReadLog func(ctx context.Context, config *rest.Config, namespace, pod string) error
	// Instances is nil if there are no nodes on demand.
	Instances Instances
	// Open makes a client of the hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.WithWatch, error)
}

// timeout is how long the steps of a reconcile may take: an API server that does not
// answer must not occupy the worker for minutes.
const timeout = 30 * time.Second

// Reconciler manages the objects that a hosted cluster needs inside.
type Reconciler struct {
	Options
	// connections are those to hosted clusters. One reconcile runs at a time.
	connections map[types.UID]*clusterConnection
	watches     *watchSource
}

func newReconciler(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, connections: map[types.UID]*clusterConnection{}, watches: newWatchSource()}
	if r.Open == nil {
		r.Open = open(opts.Scheme)
	}
	if r.ReadLog == nil {
		r.ReadLog = readLog
	}
	return r
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller { return newReconciler(opts).controller() }

func (r *Reconciler) controller() *Controller {
	parts := []reconcile.Step[*scope]{
		{Name: "node access", Run: r.checkNodes},
		{Name: "client certificates", Run: r.approveJoining},
		{Name: "serving certificates", Run: r.approveServing},
		{Name: "nodes", Run: r.countNodes},
		{Name: "connection", Run: r.checkConnection},
		{Name: "kubelets", Run: r.checkKubelets},
		{Name: "watches", Run: r.ensureWatches},
		{Name: "CA rollout", Run: r.awaitNodes},
		{Name: "pod network", Run: r.ensurePodNetwork},
		{Name: "nodes on demand", Run: r.ensureAutoNode},
	}
	for _, p := range contents() {
		parts = append(parts, reconcile.Step[*scope]{Name: p.name, Run: func(ctx context.Context, s *scope) error { return r.ensure(ctx, s, p) }})
	}
	live := []reconcile.Step[*scope]{
		{Name: "machines", Run: r.checkMachines},
		{Name: "API server", Run: r.connect},
		{Name: "permissions", Run: r.ensurePermissions},
		{Name: "NodeClaims", Run: r.findNodeClaims},
		reconcile.Group(parts...),
	}
	cleaning := []reconcile.Step[*scope]{
		{Name: "API server", Run: r.connect},
		{Name: "search", Run: r.findCloudResources},
		{Name: "permissions", Run: unhurried(r.ensurePermissions)},
		{Name: "admission", Run: unhurried(r.blockCreation)},
		{Name: "cloud resources", Run: r.removeCloudResources},
	}
	return &Controller{
		Name: "guest", Client: r.Client, Clock: r.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.cleaning() {
				return cleaning
			}
			return live
		},
		Store: r.Status, Conditions: ownedConditions,
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{NodeCount: hcp.Status.NodeCount, AutoNode: hcp.Status.AutoNode, RemainingCloudResources: hcp.Status.RemainingCloudResources, NodeAccess: hcp.Status.NodeAccess}
		},
		Spacing:     reconcile.DefaultSpacing,
		Prompt:      []string{hyperv1.ConfigOperatorReconciliationSucceeded, hyperv1.KubeletServingCertificatesSigned, hyperv1.DataPlaneConnectionAvailable},
		Summary:     summary,
		Status:      func(s *scope, report reconcile.Report, _ *reconcile.Conditions) { r.invalidatePermissions(s, report) },
		Classify:    classifier,
		Resync:      func(*scope) time.Duration { return r.Interval },
		NoLaterThan: func(s *scope) time.Duration { return s.requeue },
		Timeout:     timeout,
	}
}

// scope is what one reconcile knows.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// hosted is the connection to the hosted cluster. Set by connect.
	hosted *clusterConnection
	// target has the facts that components use. Set by the first step that needs it.
	target *target.HostedCluster
	// nodesVersion, servingVersion and joinVersion are the resourceVersions at which watches of them begin.
	// Set by countNodes, approveServing and approveJoining.
	nodesVersion, servingVersion, joinVersion string
	// claims are the nodes on demand, and claimsVersion is the resourceVersion at which a watch of them begins. Set by
	// findNodeClaims.
	claims        []nodeClaim
	claimsVersion string
	// node is what nodes on demand are made from. Set by ensureAutoNode.
	node *nodeOnDemand
	// following are the Machines that may have to follow a change of the access mode. Set by checkMachines.
	following []clusterv1.Machine
	// cloud has what the hosted cluster created in the cloud, nil if that is not known. Set by findCloudResources.
	cloud *cloudResources
	// unprotected is true if it may still create cloud resources. Set by unhurried.
	unprotected bool
	// requeue is when to reconcile again although nothing is wrong, 0 for the usual time.
	requeue time.Duration
}

// requeueAfter reconciles the object again after that time, or sooner if another step asks for it.
func (s *scope) requeueAfter(after time.Duration) {
	if s.requeue == 0 || after < s.requeue {
		s.requeue = after
	}
}

// cleaning is true if the cluster is to be emptied before its API server is deleted.
func (s *scope) cleaning() bool {
	return s.hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes &&
		(s.hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == yes || s.hcp.Spec.AutoNode.Karpenter() != nil)
}

const yes = "true"

// scope skips a control plane that is being deleted, unless it has to be emptied first.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	s := &scope{hcp: hcp}
	paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	switch {
	case !hcp.DeletionTimestamp.IsZero():
		r.disconnect(hcp.UID)
		return nil, reconcile.Skip(0)
	case hcp.Unreadable() != "": // the hostedcontrolplane controller reports it
		return nil, reconcile.Skip(0)
	case s.cleaning():
		return s, nil
	case hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes:
		return nil, reconcile.Skip(0)
	case paused:
		return nil, reconcile.Skip(remaining)
	}
	return s, nil
}
