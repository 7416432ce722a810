package components

import (
	"context"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Owner is the field owner of this controller's part of the status.
const Owner = "control-plane-operator-components"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache what is wanted rarely.
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Releases tells which images a payload has.
	Releases     release.Resolver
	Certificates Certificates
	Components   []component.Component
	// OperatorImage is the image that this program runs in.
	OperatorImage string
	// AWSEndpoints is environment that says where AWS is.
	AWSEndpoints []corev1.EnvVar
}

// Certificates makes the certificates of a control plane. It says when to come
// again, and whether the cache does not have yet what there is now.
type Certificates interface {
	Ensure(context.Context, *hyperv1.HostedControlPlane, certificates.Facts) (again time.Duration, changed bool, err error)
}

// Reconciler runs the pods of a control plane.
type Reconciler struct {
	Options
	runner      *component.Runner
	live, dying []reconcile.Step[*scope]
}

// New returns a Reconciler.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, runner: component.NewRunner(component.Options{
		Client: opts.Client, Reader: opts.Reader, Scheme: opts.Scheme, Clock: opts.Clock, Owner: names.ControlPlaneOperator,
	})}
	r.live = []reconcile.Step[*scope]{
		{Name: "finalizer", Run: r.addFinalizer},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "release", Condition: hyperv1.ValidReleaseInfo, Run: r.resolveRelease},
			reconcile.Step[*scope]{Name: "hosts", Run: r.resolveHosts},
		),
		{Name: "certificates", Run: r.ensureCertificates},
		{Name: "gather", Run: r.gather},
		{Name: "kubelet verification", Run: r.resolveKubeletVerification},
		{Name: "encryption", Run: r.awaitEncryption},
		{Name: "components", Run: r.ensureComponents},
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "others", Run: r.awaitOthers},
		{Name: "pods", Run: r.deleteComponents},
		{Name: "finalizer", Run: r.removeFinalizer},
	}
	return r
}

// Reconcile brings the pods of one control plane closer to what they should be.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if hcp.Unreadable() != "" {
		return ctrl.Result{}, nil // the hostedcontrolplane controller says so
	}
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	s := &scope{hcp: hcp, status: status}
	steps := r.live
	s.paused, s.again = hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	if !hcp.DeletionTimestamp.IsZero() {
		steps = r.dying
	}
	report := reconcile.Run(ctx, s, steps...)
	r.summarize(s, report)
	result, err := report.Result(status.Write(ctx))
	if err == nil && s.again > 0 && (result.RequeueAfter == 0 || s.again < result.RequeueAfter) {
		result.RequeueAfter = s.again
	}
	return result, err
}

// scope is what one pass has learned, and by which step.
type scope struct {
	hcp    *hyperv1.HostedControlPlane
	status *reconcile.Writer[*hyperv1.HostedControlPlane]
	// paused says that nothing may be changed. What is true is told all the same.
	paused bool
	// again is when to come back although all is well, 0 for never.
	again time.Duration
	// runs is the release of the control plane, and wanted that of the cluster,
	// which is the same unless the control plane has one of its own. resolveRelease
	runs, wanted *release.Release
	// api and konnectivity are known as far as they are. resolveHosts
	api, konnectivity component.Host
	routes            []routev1.Route
	services          map[string]*corev1.Service
	// workers says that there are nodes, or have been. gather
	workers    bool
	available  []string
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
	// states say how each component is; nil if that is not known. ensureComponents
	states []component.State
}

func (r *Reconciler) addFinalizer(ctx context.Context, s *scope) error {
	if s.paused {
		return nil
	}
	return s.status.AddFinalizer(ctx, hyperv1.ControlPlaneComponentsFinalizer)
}
