package hostedcluster

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/limits"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what a Reconciler needs.
type Options struct {
	// Client reads through the cache, which holds our own objects only.
	Client client.Client
	// Reader reads the user's Secrets, and what may not be in the cache yet.
	Reader client.Reader
	// Sources tells when the user's Secrets and ConfigMaps change. It has their
	// metadata only.
	Sources  cache.Cache
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	// GenerateKey makes a pair of keys, PEM; webidentity.GenerateKey but in tests,
	// which do not have the time.
	GenerateKey func() (private, public []byte, err error)
	// GenerateCertificate makes a certificate and its key, PEM; the function of
	// that name but in tests, which want the same one twice.
	GenerateCertificate func() (certificate, key []byte, err error)
	// Documents is the bucket for OIDC documents; nil if the installation has none.
	Documents *oidcdocs.Bucket
	// PrivateRegion is the region in which this installation can make private
	// clusters; empty if it cannot.
	PrivateRegion string
	// ControlPlaneOperatorImage is the image of the control-plane-operators.
	ControlPlaneOperatorImage string
	// ClusterAPIImage and CAPIProviderImage are those of Cluster API and of its
	// AWS provider, which make the machines of clusters with node pools.
	ClusterAPIImage, CAPIProviderImage string
	// AWSEndpoints is environment that says where AWS is, for the programs beside
	// a control plane that call it. Empty where it is for everybody.
	AWSEndpoints []corev1.EnvVar

	// Releases tells what is in a release image.
	Releases release.Resolver
	// SkipLoadBalancerChecks says that the management cluster reaches no load
	// balancer, so that the control-plane-operators do not check them.
	SkipLoadBalancerChecks bool
	// RegistryOverrides say where release images and their components are pulled,
	// for the control-plane-operators, which resolve them too.
	RegistryOverrides release.Overrides

	// AllowOperatorImageOverride lets a HostedCluster name the image of its own
	// control-plane-operator, in an annotation. Who may write HostedClusters may
	// then do all that the control-plane-operator of the cluster may.
	AllowOperatorImageOverride bool

	// Namespace is that of this operator; there it remembers whose an infraID was.
	// Empty for no memory.
	Namespace string

	// Limits bound what one control plane takes of the management cluster.
	Limits limits.Limits
	// ManagementAPIEndpoints are addresses of the API server of the management
	// cluster beside those that the cluster itself lists: its public ones.
	ManagementAPIEndpoints []netip.AddrPort
	// BlockedCIDRs are further networks that no pod of a control plane reaches.
	BlockedCIDRs []netip.Prefix
	// MetricsClientCA is the authority, PEM, whose clients may read the metrics of
	// the control-plane-operators; nobody may if it is empty.
	MetricsClientCA []byte
	// PoliciesEnforced is whether the management cluster enforces NetworkPolicies;
	// nil if nobody checks it. PoliciesChanged gets an event when that changes.
	PoliciesEnforced func() metav1.ConditionStatus
	PoliciesChanged  <-chan event.GenericEvent

	// Resync is how long a cluster at rest is left alone; jitter is added.
	Resync time.Duration
	// DocumentsAge is how long published OIDC documents are believed to be there.
	DocumentsAge time.Duration
}

// Reconciler drives HostedClusters.
type Reconciler struct {
	Options
	apply     *apply.Applier
	published *published
	// missing names what the management cluster lacks. Filled by SetupWithManager.
	missing string

	live, paused, dying []reconcile.Step[*scope]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	r := &Reconciler{Options: o, apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator), published: newPublished()}
	r.live = []reconcile.Step[*scope]{
		{Name: "the configuration", Condition: hyperv1.ValidHostedClusterConfiguration, Run: r.checkConfiguration},
		{Name: "support by this installation", Condition: hyperv1.SupportedHostedCluster, Run: r.checkSupport},
		{Name: "the identifiers", Run: r.claim},
		{Name: "the namespace", Run: r.ensureNamespace},
		reconcile.Group(
			// Whoever creates anything after it is counted.
			reconcile.Step[*scope]{Name: "the limits of the namespace", Run: r.ensureLimits},
			// Its pod takes longest to come up.
			reconcile.Step[*scope]{Name: "the pull secret", Run: r.ensurePullSecret},
			reconcile.Step[*scope]{Name: "the control-plane-operator", Run: r.ensureOperator},
			reconcile.Step[*scope]{Name: "the token issuer", Condition: hyperv1.ValidOIDCConfiguration, Run: r.ensureIssuer},
			reconcile.Step[*scope]{Name: "the copies", Run: r.ensureCopies},
			reconcile.Step[*scope]{Name: "the proxy's certificate authorities", Condition: hyperv1.ValidProxyConfiguration, Run: r.checkProxyTrust},
			reconcile.Step[*scope]{Name: "the way to etcd", Condition: hyperv1.UnmanagedEtcdAvailable, Run: r.checkEtcdClient},
			reconcile.Step[*scope]{Name: "the credentials", Condition: hyperv1.PlatformCredentialsFound, Run: r.ensureCredentials},
			reconcile.Step[*scope]{Name: "the release image", Condition: hyperv1.ValidReleaseImage, Run: r.checkRelease},
			reconcile.Step[*scope]{Name: "the HostedControlPlane", Run: r.ensureControlPlane},
			reconcile.Step[*scope]{Name: "the network policies", Run: r.ensurePolicies},
			reconcile.Step[*scope]{Name: "the cluster of Cluster API", Run: r.ensureCluster},
			reconcile.Step[*scope]{Name: "the controllers of the machines", Run: r.ensureWorkers},
			reconcile.Step[*scope]{Name: "what the user gets", Run: r.ensureHandouts},
		),
	}
	r.paused = []reconcile.Step[*scope]{
		{Name: "the pause of the control plane", Run: r.pauseControlPlane},
		{Name: "the pause of the machines", Run: r.pauseMachines},
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "what the control-plane-operator needs", Run: r.keepOperator},
		{Name: "the node pools", Run: r.deleteNodePools},
		{Name: "the machines", Run: r.deleteMachines},
		{Name: "the cloud resources of the hosted cluster", Run: r.awaitCleanup},
		{Name: "the endpoints", Run: r.deleteEndpoints},
		{Name: "the HostedControlPlane", Run: r.deleteControlPlane},
		{Name: "the cluster of Cluster API", Run: r.deleteCluster},
		{Name: "the OIDC documents", Run: r.removeDocuments},
		{Name: "the namespace", Run: r.deleteNamespace},
		{Name: "the grace period", Run: r.waitGracePeriod},
		{Name: "the infraID", Run: r.releaseInfraID},
		{Name: "the finalizer", Run: r.removeFinalizer},
	}
	return r
}

// Reconcile drives one HostedCluster, and what one of the same name has left
// behind that went without us.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	hc := &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, req.NamespacedName, hc)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil {
		hc = nil
	}
	lost, err := r.lost(ctx, req.NamespacedName, hc)
	if err != nil {
		return ctrl.Result{}, err
	}
	var scopes []*scope
	if lost != nil {
		scopes = append(scopes, lost)
	}
	if hc != nil {
		s, err := r.gather(ctx, hc)
		if err != nil {
			return ctrl.Result{}, err
		}
		s.save = reconcile.NewWriter(r.Client, r.Reader, hc, names.HypershiftOperator, func(hc *hyperv1.HostedCluster) any { return hc.Status }).Write
		scopes = append(scopes, s)
	}
	var soonest ctrl.Result
	for _, s := range scopes {
		res, err := r.drive(ctx, s)
		if err != nil {
			return res, err
		}
		if soonest.RequeueAfter == 0 || res.RequeueAfter < soonest.RequeueAfter {
			soonest = res
		}
	}
	return soonest, nil
}

// drive takes the steps, and says in the status where they have led.
func (r *Reconciler) drive(ctx context.Context, s *scope) (ctrl.Result, error) {
	report := reconcile.Run(ctx, s, r.stepsFor(s)...)
	r.summarize(s, report)
	res, err := report.Result(s.save(ctx))
	if err != nil {
		return res, err
	}
	return r.comeBack(s, res), nil
}

func (r *Reconciler) stepsFor(s *scope) []reconcile.Step[*scope] {
	switch {
	case s.dying():
		return r.dying
	case s.paused:
		return r.paused
	}
	return r.live
}

// comeBack adds the looks at what no watch tells of: the user's Secrets, the
// OIDC documents, the end of a pause, a control-plane-operator that does not start.
func (r *Reconciler) comeBack(s *scope, res ctrl.Result) ctrl.Result {
	if res.RequeueAfter == 0 {
		res.RequeueAfter = wait.Jitter(r.Resync, 0.2)
	}
	if s.paused && s.pauseLeft > 0 {
		res.RequeueAfter = min(res.RequeueAfter, s.pauseLeft)
	}
	if s.silenceIn > 0 {
		res.RequeueAfter = min(res.RequeueAfter, s.silenceIn)
	}
	return res
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return reconcile.RemoveFinalizer(ctx, r.Client, s.hc, hyperv1.HostedClusterFinalizer)
}
