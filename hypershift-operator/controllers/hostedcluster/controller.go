package hostedcluster

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/oidc"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what a Reconciler needs.
type Options struct {
	// Client reads from the cache, which has our own objects only.
	Client client.Client
	// Reader reads the user's Secrets, and objects that may not be in the cache yet.
	Reader client.Reader
	// Sources is the cache that reports changes of the user's Secrets and ConfigMaps. It
	// has their metadata only.
	Sources  cache.Cache
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	// GenerateKey creates a key pair, PEM; webidentity.GenerateKey except in tests, which
	// do not have the time.
	GenerateKey func() (private, public []byte, err error)
	// GenerateCertificate creates a certificate and its key, PEM; the function of that
	// name except in tests, which need the same one twice.
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
	// AWSEndpoints are environment variables with the endpoints of AWS, for the programs of
	// a control plane that call it. Empty for the usual endpoints.
	AWSEndpoints []corev1.EnvVar

	// Releases resolves the content of release images.
	Releases release.Resolver
	// SkipLoadBalancerChecks is true if the management cluster cannot reach load balancers,
	// so that the control-plane-operators do not check them.
	SkipLoadBalancerChecks bool
	// RegistryOverrides replace registries of release images and their components, for the
	// control-plane-operators, which resolve them too.
	RegistryOverrides release.Overrides

	// AllowOperatorImageOverride lets a HostedCluster name the image of its own
	// control-plane-operator, in an annotation. Who may write HostedClusters may
	// then do all that the control-plane-operator of the cluster may.
	AllowOperatorImageOverride bool

	// Namespace is the namespace of this operator, where it records the owners of infraIDs.
	// Empty for no record.
	Namespace string

	// Limits are the resources of the management cluster that one control plane may use.
	Limits limits.Limits
	// ManagementAPIEndpoints are addresses of the API server of the management
	// cluster in addition to those that the cluster itself lists: its public ones.
	ManagementAPIEndpoints []netip.AddrPort
	// BlockedCIDRs are more networks that no pod of a control plane may reach.
	BlockedCIDRs []netip.Prefix
	// MetricsClientCA is the authority, PEM, whose clients may read the metrics of
	// the control-plane-operators; no client may if it is empty.
	MetricsClientCA []byte
	// PoliciesEnforced is whether the management cluster enforces NetworkPolicies;
	// nil if it is not checked. PoliciesChanged gets an event when that changes.
	PoliciesEnforced func() metav1.ConditionStatus
	PoliciesChanged  <-chan event.GenericEvent

	// Resync is how often a cluster is reconciled although nothing has changed.
	Resync time.Duration
	// DocumentsAge is how long published OIDC documents are not checked again.
	DocumentsAge time.Duration
}

// Reconciler manages HostedClusters.
type Reconciler struct {
	Options
	apply *apply.Applier
	oidc  *oidc.Publisher
	capi  clusterapi.Manager
	// missing names the CRDs that the management cluster lacks. Set by Setup.
	missing string
}

func newReconciler(o Options) *Reconciler {
	r := &Reconciler{Options: o, apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator), oidc: oidc.NewPublisher(o.Documents, o.Clock, o.DocumentsAge)}
	r.capi = clusterapi.Manager{Client: o.Client, Applier: r.apply, GenerateCertificate: o.GenerateCertificate}
	return r
}

// Controller reconciles HostedClusters.
type Controller = reconcile.Controller[*hyperv1.HostedCluster, *scope]

// New returns a reconciler for a management cluster that has all CRDs.
func New(o Options) reconcile.Reconciler { return newReconciler(o).reconciler() }

// reconciler deletes what a HostedCluster of the same name has left behind, and then
// reconciles the HostedCluster.
func (r *Reconciler) reconciler() reconcile.Reconciler {
	return reconcile.Sequence(r.orphans(), r.controller())
}

// controller is the controller of the HostedClusters that exist.
func (r *Reconciler) controller() *Controller {
	live := []reconcile.Step[*scope]{
		{Name: "configuration", Condition: hyperv1.ValidHostedClusterConfiguration, Run: r.checkConfiguration},
		{Name: "support by this installation", Condition: hyperv1.SupportedHostedCluster, Run: r.checkSupport},
		{Name: "identifiers", Run: r.claim},
		{Name: "namespace", Run: r.ensureNamespace},
		reconcile.Group(
			// All objects that are created after it count.
			reconcile.Step[*scope]{Name: "limits of the namespace", Run: r.ensureLimits},
			// Its pod takes longest to start.
			reconcile.Step[*scope]{Name: "pull secret", Run: r.ensurePullSecret},
			reconcile.Step[*scope]{Name: "control-plane-operator", Run: r.ensureOperator},
			reconcile.Step[*scope]{Name: "token issuer", Condition: hyperv1.ValidOIDCConfiguration, Run: r.ensureIssuer},
			reconcile.Step[*scope]{Name: "copies of user objects", Run: r.ensureCopies},
			reconcile.Step[*scope]{Name: "certificate authorities of the proxy", Condition: hyperv1.ValidProxyConfiguration, Run: r.checkProxyTrust},
			reconcile.Step[*scope]{Name: "unmanaged etcd credentials", Condition: hyperv1.UnmanagedEtcdAvailable, Run: r.checkEtcdClient},
			reconcile.Step[*scope]{Name: "credentials", Condition: hyperv1.PlatformCredentialsFound, Run: r.ensureCredentials},
			reconcile.Step[*scope]{Name: "release image", Condition: hyperv1.ValidReleaseImage, Run: r.checkRelease},
			reconcile.Step[*scope]{Name: "HostedControlPlane", Run: r.ensureControlPlane},
			reconcile.Step[*scope]{Name: "network policies", Run: r.ensurePolicies},
			reconcile.Step[*scope]{Name: "Cluster API objects", Run: r.ensureCluster},
			reconcile.Step[*scope]{Name: "Cluster API controllers", Run: r.ensureWorkers},
			reconcile.Step[*scope]{Name: "kubeconfigs and passwords for users", Run: r.ensurePublishedSecrets},
		),
	}
	paused := []reconcile.Step[*scope]{
		{Name: "pause of the control plane", Run: r.pauseControlPlane},
		{Name: "pause of the machines", Run: r.pauseMachines},
	}
	deleting := r.deletion()
	return &Controller{
		Name: "hostedcluster", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Scope: func(ctx context.Context, hc *hyperv1.HostedCluster, status *reconcile.Writer[*hyperv1.HostedCluster]) (*scope, error) {
			s, err := r.gather(ctx, hc)
			if err != nil {
				return nil, err
			}
			s.save = status.Write
			s.updateFacts(r.Clock.Now())
			return s, nil
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.deleting():
				return deleting
			case s.paused:
				return paused
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Fields: func(hc *hyperv1.HostedCluster) any { return hc.Status },
		Status: r.summarize, Classify: classify,
		Resync: r.resync, NoLaterThan: r.noLaterThan,
		MaxBackoff: 5 * time.Minute,
		Workers:    workers,
	}
}

// orphans is the controller of control planes whose HostedCluster is gone without its
// finalizer having been waited for. Their status is stored on their namespace.
func (r *Reconciler) orphans() *Controller {
	deleting := r.deletion()
	return &Controller{
		Name: "hostedcluster", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Get: func(_ context.Context, key client.ObjectKey) (*hyperv1.HostedCluster, error) {
			return &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, nil
		},
		Scope: func(ctx context.Context, hc *hyperv1.HostedCluster, _ *reconcile.Writer[*hyperv1.HostedCluster]) (*scope, error) {
			s, err := r.findAdopted(ctx, hc)
			if s == nil && err == nil {
				return nil, reconcile.Skip(0)
			}
			if err != nil {
				return nil, err
			}
			s.updateFacts(r.Clock.Now())
			return s, nil
		},
		Phase:  func(*scope) []reconcile.Step[*scope] { return deleting },
		Status: r.summarize, Classify: classify,
		Save:   func(ctx context.Context, s *scope) error { return s.save(ctx) },
		Resync: r.resync, NoLaterThan: r.noLaterThan,
	}
}

func (r *Reconciler) deletion() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		{Name: "requirements of the control-plane-operator", Run: r.retainOperator},
		{Name: "node pools", Run: r.deleteNodePools},
		{Name: "machines", Run: r.deleteMachines},
		{Name: "cloud resources of the hosted cluster", Run: r.awaitCleanup},
		{Name: "endpoints", Run: r.deleteEndpoints},
		{Name: "HostedControlPlane", Run: r.deleteControlPlane},
		{Name: "Cluster API objects", Run: r.deleteCluster},
		{Name: "OIDC documents", Run: r.removeDocuments},
		{Name: "namespace", Run: r.deleteNamespace},
		{Name: "grace period", Run: r.waitGracePeriod},
		{Name: "infraID", Run: r.releaseInfraID},
		{Name: "finalizer", Run: r.removeFinalizer},
	}
}

// resync is how often a cluster is reconciled for what is not watched: the user's
// Secrets, the OIDC documents.
func (r *Reconciler) resync(*scope) time.Duration { return r.Resync }

// noLaterThan is the end of a pause, or the time at which a control-plane-operator that
// does not start has to be reported.
func (r *Reconciler) noLaterThan(s *scope) time.Duration {
	switch {
	case !s.paused || s.pauseLeft == 0:
		return s.operatorCheckIn
	case s.operatorCheckIn == 0:
		return s.pauseLeft
	}
	return min(s.pauseLeft, s.operatorCheckIn)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return reconcile.RemoveFinalizer(ctx, r.Client, s.hc, hyperv1.HostedClusterFinalizer)
}
