package hostedclusterresources

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/authorities"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/dataplane"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options configure a Reconciler.
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
	// OperatorImage is the image that this program runs in.
	OperatorImage string
	// Interval is how often the hosted cluster is compared with the desired state although the management cluster is unchanged.
	Interval time.Duration
	// Refused is called with the reasons why certificate requests of machines are not approved, by name of the Machine. It
	// may be nil.
	Refused func(why map[string]string)
	// ReadLog reads a line of a pod's log; nil for the usual way.
	ReadLog func(ctx context.Context, config *rest.Config, namespace, pod string) error
	// Instances is nil if there are no nodes on demand.
	Instances autonode.Instances
	// Open makes a client of the hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.WithWatch, error)
}

// timeout is how long the steps of a reconcile may take: an API server that does not
// answer must not occupy the worker for minutes.
const timeout = 30 * time.Second

// Reconciler manages the objects that a hosted cluster needs inside. Each step is a few lines that call the packages of
// control-plane-operator/hostedcluster.
type Reconciler struct {
	Options
	connections *connection.Pool
	objects     objects.Options
	approver    certificaterequests.Approver
	rollout     authorities.Rollout
	tunnels     dataplane.Checker
}

func newReconciler(opts Options) *Reconciler {
	return &Reconciler{
		Options:     opts,
		connections: connection.NewPool(connection.Options{Client: opts.Client, Scheme: opts.Scheme, Open: opts.Open}),
		objects:     objects.Options{Client: opts.Client, Clock: opts.Clock, Releases: opts.Releases, OperatorImage: opts.OperatorImage, Interval: opts.Interval},
		approver:    certificaterequests.Approver{Client: opts.Client, Reader: opts.Reader, Recorder: opts.Recorder, Clock: opts.Clock, Refused: opts.Refused},
		rollout:     authorities.Rollout{Client: opts.Client, Recorder: opts.Recorder, Clock: opts.Clock},
		tunnels:     dataplane.Checker{Clock: opts.Clock, Interval: opts.Interval, ReadLog: opts.ReadLog},
	}
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller { return newReconciler(opts).controller() }

func (r *Reconciler) controller() *Controller {
	independent := []reconcile.Step[*scope]{
		{Name: "node access", Run: r.readNodeAccess},
		{Name: "client certificates", Run: r.approveJoining},
		{Name: "serving certificates", Run: r.approveServing},
		{Name: "number of nodes", Run: countNodes},
		{Name: "connection to nodes", Run: r.observeTunnels},
		{Name: "kubelets", Run: readKubelets},
		{Name: "watches", Run: r.ensureWatches},
		{Name: "CA rollout", Run: r.awaitCARollout},
		{Name: "pod network", Run: ensurePodNetwork},
		{Name: "nodes on demand", Run: ensureAutoNode},
		{Name: "additional pull secret", Run: readAdditionalPullSecret},
		{Name: "ingress", Run: ensureIngress},
		{Name: "image registry", Run: observeImageRegistry},
	}
	for _, set := range objects.Independent() {
		independent = append(independent, reconcile.Step[*scope]{Name: set.Name, Run: func(ctx context.Context, s *scope) error { return s.objects.Ensure(ctx, set) }})
	}
	live := []reconcile.Step[*scope]{
		{Name: "machines", Run: r.findMachinesToFollow},
		{Name: "API server", Run: r.connect},
		{Name: "permissions", Run: ensurePermissions},
		{Name: "NodeClaims", Run: findNodeClaims},
		reconcile.Group(independent...),
	}
	emptying := []reconcile.Step[*scope]{
		{Name: "API server", Run: r.connect},
		{Name: "cloud resources", Run: findCloudResources},
		{Name: "permissions", Run: unhurried(ensurePermissions)},
		{Name: "admission policy", Run: unhurried(blockCreation)},
		{Name: "removal", Run: r.removeCloudResources},
	}
	return &Controller{
		Name: "hostedclusterresources", Client: r.Client, Clock: r.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.emptying():
				return emptying
			case s.hcp.Sleeps():
				return nil // the objects in the hosted cluster stay as they are
			}
			return live
		},
		Store: r.Status, Conditions: ownedConditions,
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{NodeCount: hcp.Status.NodeCount, AutoNode: hcp.Status.AutoNode, Ingress: hcp.Status.Ingress, RemainingCloudResources: hcp.Status.RemainingCloudResources, NodeAccess: hcp.Status.NodeAccess}
		},
		Spacing:     reconcile.DefaultSpacing,
		Prompt:      []string{hyperv1.ConfigOperatorReconciliationSucceeded, hyperv1.KubeletServingCertificatesSigned, hyperv1.DataPlaneConnectionAvailable},
		Summary:     summary,
		Status:      report,
		Classify:    classifier,
		Resync:      func(*scope) time.Duration { return r.Interval },
		NoLaterThan: func(s *scope) time.Duration { return s.requeue },
		Timeout:     timeout,
	}
}

// scope skips a control plane that is being deleted, unless its cluster has to be emptied first.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	s := &scope{hcp: hcp}
	paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	switch {
	case !hcp.DeletionTimestamp.IsZero():
		r.connections.Disconnect(hcp.UID)
		return nil, reconcile.Skip(0)
	case hcp.Unreadable() != "": // the hostedcontrolplane controller reports it
		return nil, reconcile.Skip(0)
	case s.emptying():
		return s, nil
	case hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes:
		return nil, reconcile.Skip(0)
	case paused:
		return nil, reconcile.Skip(remaining)
	case hcp.Sleeps():
		r.connections.Disconnect(hcp.UID)
	}
	return s, nil
}

// connect opens the connection to the hosted cluster.
func (r *Reconciler) connect(ctx context.Context, s *scope) (err error) {
	if s.cluster, err = r.connections.Connect(ctx, s.hcp); err != nil {
		return err
	}
	s.objects = &objects.Builder{
		Options: r.objects, HCP: s.hcp, Cluster: s.cluster, Emptying: s.emptying(),
		TokenOnDemand: func(ctx context.Context) (*corev1.Secret, error) { return r.tokenOnDemand(ctx, s) },
	}
	return nil
}

// machines returns the Machines of the cluster. There are none without Cluster API.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := r.Reader.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("listing Machines: %w", err)
	}
	return list.Items, nil
}
