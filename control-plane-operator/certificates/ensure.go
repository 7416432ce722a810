package certificates

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are the dependencies of Certificates.
type Options struct {
	// Client reads from a cache, Reader from the API server.
	Client   client.Client
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// StepDuration is the shortest duration of a rotation step unless the control plane sets another one. The default is
	// DefaultStepDuration.
	StepDuration time.Duration
}

// DefaultStepDuration is longer than a kubelet and the programs in its pods need to observe a changed Secret.
const DefaultStepDuration = 5 * time.Minute

const (
	// jitter spreads the reconciles of clusters that were created together.
	jitter = 0.05
	// maxJitter limits it: an alert reports a certificate that is not renewed in time.
	maxJitter = time.Hour
	yes       = "true"
)

// Facts are the inputs of Ensure in addition to the HostedControlPlane.
type Facts struct {
	// API is the host of the API server for users. Konnectivity is the host of the tunnel for nodes. Their names are
	// empty until they are known.
	API, Konnectivity target.Host
	// RolledOut returns whether everything that trusts a signer, or uses a certificate from it, runs with the current
	// content of the Secrets: the control plane's pods, the objects in the hosted cluster, its nodes. Ensure calls it
	// only when the Secrets are up to date. Without it no rotation advances.
	RolledOut func(signer string) bool
	// Revocation is the revocation of CustomerBreakGlassSigner in progress, or empty.
	Revocation Revocation
	// KubeadminPassword is true when the cluster runs an OAuth server that needs the password.
	KubeadminPassword bool
	// MetricsServer is true when metrics-server runs on the nodes of the cluster, and the others when these components run
	// next to its control plane.
	MetricsServer, Ingress, ImageRegistry, PodIdentityWebhook, EBSCSIController, CloudController, Scheduler bool
}

// Certificates reconciles the certificates of control planes.
type Certificates struct {
	Options
	table table
	apply *apply.Applier
	// skip is the skip state of the last control plane. An operator has one control plane.
	skip atomic.Pointer[skipState]
	// parsed holds the certificates that Validities has read.
	parsed parsed
}

// New returns Certificates.
func New(opts Options) *Certificates {
	if opts.StepDuration == 0 {
		opts.StepDuration = DefaultStepDuration
	}
	return &Certificates{Options: opts, table: fullTable, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
}

func setOf(hcp *hyperv1.HostedControlPlane, name string) apply.Set {
	return apply.Set{
		Name: name, Namespace: hcp.Namespace, Parent: hcp, Independent: true,
		Kinds: []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}},
	}
}

// Ensure reconciles the certificates of hcp. It returns when to requeue without a change, and whether it wrote something
// that the cache does not have yet. It returns at once if users bring the certificates.
func (c *Certificates) Ensure(ctx context.Context, hcp *hyperv1.HostedControlPlane, facts Facts) (after time.Duration, changed bool, err error) {
	if hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation] == yes {
		return 0, false, nil
	}
	if err := CheckServiceNetwork(hcp); err != nil {
		return 0, false, reconcile.Block(hyperv1.InvalidConfigurationReason, "%v", err)
	}
	existing, err := read(ctx, c.Client, hcp.Namespace)
	if err != nil {
		return 0, false, err
	}
	now := c.Clock.Now()
	digest, err := digestOf(hcp, facts, existing)
	if err != nil {
		return 0, false, err
	}
	if r := c.skippable(digest, now); r != nil {
		return requeueAfter(r.until, now), false, nil
	}
	p, err := c.plan(hcp, facts, existing, now)
	if err == nil && p.differs {
		p, err = c.planUncached(ctx, hcp, facts, now)
		if err == nil && !p.differs {
			return requeueAfter(p.due, now), true, nil
		}
	}
	if err != nil {
		return 0, false, err
	}
	wrote, err := c.write(ctx, p)
	if err != nil {
		return 0, wrote, err
	}
	if !wrote && !p.rotating() {
		c.skip.Store(&skipState{digest: digest, until: p.due})
	}
	return requeueAfter(p.due, now), wrote && !c.seen(ctx, p), nil
}

const setAuthorities, setCertificates = "certificate-authorities", "certificates"

// write applies the authorities first, records their events, and applies the other objects then.
func (c *Certificates) write(ctx context.Context, p *plan) (changed bool, err error) {
	for _, i := range p.issued {
		ctrl.LoggerFrom(ctx).Info("Issuing a certificate", "secret", i.secret, "why", i.why)
	}
	turned, err := c.apply.Apply(ctx, setOf(p.hcp, setAuthorities), p.authorities...)
	if err != nil {
		return turned, err
	}
	for _, n := range p.events {
		c.Recorder.Eventf(p.hcp, nil, n.kind, n.reason, "IssueCertificates", "%s", n.text)
	}
	changed, err = c.apply.Apply(ctx, setOf(p.hcp, setCertificates), p.objects...)
	return turned || changed, err
}

// seen returns whether the cache contains the written objects.
func (c *Certificates) seen(ctx context.Context, p *plan) bool {
	return c.apply.Await(ctx, setOf(p.hcp, setAuthorities), p.authorities...) && c.apply.Await(ctx, setOf(p.hcp, setCertificates), p.objects...)
}

// planUncached makes the plan with a live read from the API server.
func (c *Certificates) planUncached(ctx context.Context, hcp *hyperv1.HostedControlPlane, facts Facts, now time.Time) (*plan, error) {
	existing, err := read(ctx, c.Reader, hcp.Namespace)
	if err != nil {
		return nil, err
	}
	return c.plan(hcp, facts, existing, now)
}

func (c *Certificates) plan(hcp *hyperv1.HostedControlPlane, facts Facts, existing found, now time.Time) (*plan, error) {
	p := &plan{table: c.table, hcp: hcp, facts: facts, terms: termsOf(hcp), stepDuration: stepDurationOf(hcp, c.StepDuration), now: now, there: existing}
	return p, p.make()
}

// requeueAfter returns the time until the next reconcile is due.
func requeueAfter(due, now time.Time) time.Duration {
	remaining := max(due.Sub(now), time.Second)
	return wait.Jitter(remaining, min(jitter, float64(maxJitter)/float64(remaining)))
}
