package components

import (
	"context"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	// Reader reads rarely needed objects past the cache.
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Releases resolves the images of a payload.
	Releases     release.Resolver
	Certificates Certificates
	Components   []component.Component[*target.ControlPlane]
	// OperatorImage is the image that this program runs in.
	OperatorImage string
	// Egress is the environment with the endpoints of AWS and the proxy.
	Egress []corev1.EnvVar
}

// Certificates makes the certificates of a control plane. It returns when to requeue without a change, and whether it wrote something that
// the cache does not have yet.
type Certificates interface {
	Ensure(context.Context, *hyperv1.HostedControlPlane, certificates.Facts) (after time.Duration, changed bool, err error)
	// FirstExpiry is when the first certificate expires; zero: there is none.
	FirstExpiry(context.Context, *hyperv1.HostedControlPlane) (time.Time, error)
}

// Reconciler runs the components of a control plane.
type Reconciler struct {
	Options
	runner *component.Runner
}

func newReconciler(opts Options) *Reconciler {
	return &Reconciler{
		Options: opts,
		runner: component.NewRunner(component.Options{
			Client: opts.Client, Reader: opts.Reader, Scheme: opts.Scheme, Clock: opts.Clock, Owner: names.ControlPlaneOperator, Kinds: target.Kinds(),
		}),
	}
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller { return newReconciler(opts).controller() }

func (r *Reconciler) controller() *Controller {
	live := []reconcile.Step[*scope]{
		{Name: "finalizer", Run: r.addFinalizer},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "release", Condition: hyperv1.ValidReleaseInfo, Run: r.resolveRelease},
			reconcile.Step[*scope]{Name: "hosts", Run: r.resolveHosts},
			reconcile.Step[*scope]{Name: "nodes", Run: r.resolveNodes},
		),
		{Name: "certificates", Run: r.ensureCertificates},
		{Name: "gather", Run: r.gather},
		{Name: "restore of etcd", Run: r.recordRestore},
		{Name: "kubelet verification", Run: r.resolveKubeletVerification},
		{Name: "encryption", Run: r.awaitEncryption},
		{Name: "components", Run: r.ensureComponents},
	}
	deleting := []reconcile.Step[*scope]{
		{Name: "others", Run: r.awaitOthers},
		{Name: "pods", Run: r.deleteComponents},
		{Name: "finalizer", Run: r.removeFinalizer},
	}
	return &Controller{
		Name: "components", Client: r.Client, Clock: r.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.deleting() {
				return deleting
			}
			return live // while the cluster is paused, the steps do not write
		},
		Store: r.Status, Conditions: ours, Fields: fields,
		// The setting for kubelets is found again after a restart: until the API server runs, it does not change.
		Spacing: reconcile.DefaultSpacing, CanWait: []string{"versionStatus", "controlPlaneVersion", "kubeletVerification"},
		Status: r.summarize,
		Classify: reconcile.Classifier{
			Transient: release.IsUnreachable,
			Reason:    reason,
			Message:   func(err error) string { return err.Error() },
		},
		NoLaterThan: func(s *scope) time.Duration { return s.again },
	}
}

// scope holds the facts of one reconcile. The last word of a comment is the step that sets it.
type scope struct {
	hcp    *hyperv1.HostedControlPlane
	status *reconcile.Writer[*hyperv1.HostedControlPlane]
	// paused is true if objects may not be changed. The status is reported nevertheless.
	paused bool
	// again is when to reconcile again without an error or a change, 0 for never.
	again time.Duration
	// runs is the control plane's release, and wanted the cluster's release. They are the same unless the control plane has its own
	// release. resolveRelease
	runs, wanted *release.Release
	// api and konnectivity are known as far as they are. resolveHosts
	api, konnectivity target.Host
	routes            []routev1.Route
	services          map[string]*corev1.Service
	// hasNodes is true if there are nodes. resolveNodes
	hasNodes bool
	// expectsNodes is true if there are nodes, there will be, or there may have been. resolveNodes
	expectsNodes bool
	available    []string
	// pods names the pods of components, and serving is true while an API server has one; only of a control plane that sleeps.
	// gather
	pods    []string
	serving bool
	// balancers names the Services with a load balancer. gather
	balancers  []string
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
	// states say how each component is; nil if that is not known. ensureComponents
	states []component.State
	// certificatesExpire is when the first certificate expires. ensureCertificates
	certificatesExpire time.Time
}

func (r *Reconciler) addFinalizer(ctx context.Context, s *scope) error {
	if s.paused {
		return nil
	}
	return s.status.AddFinalizer(ctx, hyperv1.ControlPlaneComponentsFinalizer)
}

func (s *scope) deleting() bool { return !s.hcp.DeletionTimestamp.IsZero() }

func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, status *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	if hcp.Unreadable() != "" {
		return nil, reconcile.Skip(0) // the hostedcontrolplane controller reports it
	}
	s := &scope{hcp: hcp, status: status}
	s.paused, s.again = hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	return s, nil
}
