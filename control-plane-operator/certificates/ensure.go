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
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are what Certificates needs.
type Options struct {
	// Client reads from a cache, and Reader past it.
	Client   client.Client
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Settle is how long each step of a rotation takes at least unless the control plane is to take another time;
	// DefaultSettle if it is 0.
	Settle time.Duration
}

// DefaultSettle is longer than a kubelet and the programs in its pods take to
// notice that a Secret has changed.
const DefaultSettle = 5 * time.Minute

const (
	// jitter keeps apart the clusters that were made together.
	jitter = 0.05
	yes    = "true"
)

// Facts are what a pass knows beside the HostedControlPlane.
type Facts struct {
	// API is where users find the API server, and Konnectivity where nodes find
	// the tunnel; their names are empty until there are any.
	API, Konnectivity component.Host
	// RolledOut says whether everybody who trusts a signer, or has a certificate
	// of it, runs with what the Secrets hold now: the pods of the control plane,
	// what the hosted cluster has been given, its nodes. It is asked only when
	// the Secrets are as they should be. Without it no rotation goes on.
	RolledOut func(signer string) bool
	// KubeadminPassword says that there is an OAuth server to give one to.
	KubeadminPassword bool
}

// Certificates keeps the certificates of control planes.
type Certificates struct {
	Options
	table table
	apply *apply.Applier
	// rest is of the last control plane; an operator has one.
	rest atomic.Pointer[rest]
}

// New returns Certificates.
func New(opts Options) *Certificates {
	if opts.Settle == 0 {
		opts.Settle = DefaultSettle
	}
	return &Certificates{Options: opts, table: whole, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
}

func setOf(hcp *hyperv1.HostedControlPlane, name string) apply.Set {
	return apply.Set{
		Name: name, Namespace: hcp.Namespace, Parent: hcp, Independent: true,
		Kinds: []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}},
	}
}

// Ensure makes the certificates of hcp what they should be, and says when to come
// again although nothing has changed, and whether anything has that the cache
// does not show yet. Where the user brings the certificates it does nothing.
func (c *Certificates) Ensure(ctx context.Context, hcp *hyperv1.HostedControlPlane, facts Facts) (again time.Duration, changed bool, err error) {
	if hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation] == yes {
		return 0, false, nil
	}
	if err := CheckServiceNetwork(hcp); err != nil {
		return 0, false, reconcile.Block(hyperv1.InvalidConfigurationReason, "%v", err)
	}
	there, err := read(ctx, c.Client, hcp.Namespace)
	if err != nil {
		return 0, false, err
	}
	now := c.Clock.Now()
	digest, err := digestOf(hcp, facts, there)
	if err != nil {
		return 0, false, err
	}
	if r := c.atRest(digest, now); r != nil {
		return comeBack(r.until, now), false, nil
	}
	p, err := c.plan(hcp, facts, there, now)
	if err == nil && p.differs {
		p, err = c.planAnew(ctx, hcp, facts, now)
		if err == nil && !p.differs {
			return comeBack(p.due, now), true, nil
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
		c.rest.Store(&rest{digest: digest, until: p.due})
	}
	return comeBack(p.due, now), wrote && !c.seen(ctx, p), nil
}

const setAuthorities, setCertificates = "certificate-authorities", "certificates"

// write makes the authorities what they are to be, tells of what has become of
// them, and then makes the rest.
func (c *Certificates) write(ctx context.Context, p *plan) (changed bool, err error) {
	for _, i := range p.issued {
		ctrl.LoggerFrom(ctx).Info("Issuing a certificate", "secret", i.secret, "why", i.why)
	}
	turned, err := c.apply.Apply(ctx, setOf(p.hcp, setAuthorities), p.authorities...)
	if err != nil {
		return turned, err
	}
	for _, n := range p.news {
		c.Recorder.Eventf(p.hcp, nil, n.kind, n.reason, "IssueCertificates", "%s", n.text)
	}
	changed, err = c.apply.Apply(ctx, setOf(p.hcp, setCertificates), p.objects...)
	return turned || changed, err
}

// seen says whether the cache has what was written.
func (c *Certificates) seen(ctx context.Context, p *plan) bool {
	return c.apply.Await(ctx, setOf(p.hcp, setAuthorities), p.authorities...) && c.apply.Await(ctx, setOf(p.hcp, setCertificates), p.objects...)
}

// planAnew plans with what the API server has, not the cache.
func (c *Certificates) planAnew(ctx context.Context, hcp *hyperv1.HostedControlPlane, facts Facts, now time.Time) (*plan, error) {
	there, err := read(ctx, c.Reader, hcp.Namespace)
	if err != nil {
		return nil, err
	}
	return c.plan(hcp, facts, there, now)
}

func (c *Certificates) plan(hcp *hyperv1.HostedControlPlane, facts Facts, there found, now time.Time) (*plan, error) {
	p := &plan{table: c.table, hcp: hcp, facts: facts, terms: termsOf(hcp), settle: settleOf(hcp, c.Settle), now: now, there: there}
	return p, p.make()
}

// comeBack is how long it takes until there is something to do.
func comeBack(due, now time.Time) time.Duration {
	return wait.Jitter(max(due.Sub(now), time.Second), jitter)
}
