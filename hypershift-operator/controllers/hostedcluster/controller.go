package hostedcluster

import (
	"context"
	"crypto/rand"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterconditions"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterrelease"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/infraid"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/publishedsecrets"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sizes"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/teardown"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// Options configure a Reconciler.
type Options struct {
	// Client reads from the cache, which contains only our own objects.
	Client client.Client
	// Reader reads objects that may not be in the cache yet.
	Reader client.Reader
	// UserObjects reads the user's Secrets and ConfigMaps, and PublishedSecrets those that control planes have for users.
	UserObjects, PublishedSecrets client.Reader
	// Sources is the cache that reports changes of the user's Secrets and ConfigMaps. It
	// has their metadata only.
	Sources cache.Cache
	// Published is the cache that reports changes of the Secrets that control planes have
	// for users. It has their metadata only.
	Published cache.Cache
	Scheme    *runtime.Scheme
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock

	// GenerateKey creates a key pair, PEM; webidentity.GenerateKey except in tests, which
	// do not have the time.
	GenerateKey func() (private, public []byte, err error)
	// Documents is the bucket for OIDC documents; nil if the installation has none.
	Documents *oidcdocs.Bucket
	// PrivateRegion is the region in which this installation can make private
	// clusters; empty if it cannot.
	PrivateRegion string
	// ControlPlaneOperatorImage is the image of the control-plane-operators.
	ControlPlaneOperatorImage string
	// ClusterAPIImage and CAPIProviderImage are the images of Cluster API and of its AWS provider, which make the machines of clusters with
	// node pools.
	ClusterAPIImage, CAPIProviderImage string
	// Egress are environment variables with the endpoints of AWS and the proxy, for the programs of
	// a control plane that call it. Empty for the usual endpoints.
	Egress []corev1.EnvVar

	// Releases resolves the content of release images.
	Releases release.Resolver
	// Profiling makes the control-plane-operators serve profiles on loopback.
	Profiling bool
	// SkipLoadBalancerChecks is true if the management cluster cannot reach load balancers,
	// so that the control-plane-operators do not check them.
	SkipLoadBalancerChecks bool
	// Sizes are the requests of control planes by their number of nodes.
	Sizes sizes.Sizes
	// ServesRoutes is true if the management cluster serves Routes, as OpenShift does.
	ServesRoutes bool
	// LoadBalancers configures the Services of type LoadBalancer of control planes.
	LoadBalancers loadbalancers.Settings
	// RegistryOverrides replace registries of release images and their components, for the
	// control-plane-operators, which resolve them too.
	RegistryOverrides release.Overrides

	// AllowOperatorImageOverride lets a HostedCluster name the image of its own
	// control-plane-operator, in an annotation. A client that may write HostedClusters may
	// then do all that the control-plane-operator of the cluster may.
	AllowOperatorImageOverride bool

	// SharedRouter is true if the installation has a shared router.
	SharedRouter bool
	// Namespace is the namespace of this operator, where it records the owners of infraIDs.
	// Empty for no record.
	Namespace string

	// MissingCRDs names the CRDs of Cluster API that the management cluster lacks;
	// empty for none. Set by Setup.
	MissingCRDs string

	// Limits are the resources of the management cluster that one control plane may use.
	Limits limits.Limits
	// ManagementAPIEndpoints are addresses of the API server of the management
	// cluster in addition to those that the cluster itself lists: its public ones.
	ManagementAPIEndpoints []netip.AddrPort
	// BlockedCIDRs are more networks that no pod of a control plane may reach.
	BlockedCIDRs []netip.Prefix
	// MetricsClientCA is the authority, PEM, of clients that may read the metrics of
	// the control-plane-operators. If it is empty, no client may.
	MetricsClientCA []byte
	// PoliciesEnforced is whether the management cluster enforces NetworkPolicies;
	// nil if it is not checked. PoliciesChanged gets an event when that changes.
	PoliciesEnforced func() metav1.ConditionStatus
	PoliciesChanged  <-chan event.GenericEvent

	// Resync is how often a cluster is reconciled without a change.
	Resync time.Duration
	// DocumentsAge is how long published OIDC documents are not checked again.
	DocumentsAge time.Duration
}

// Reconciler manages HostedClusters.
type Reconciler struct {
	Options
	apply    *apply.Applier
	oidc     *oidc.Publisher
	capi     clusterapi.Manager
	infraIDs infraid.Reservations
	users    publishedsecrets.Publisher
	releases clusterrelease.Checker
	onDemand autonode.Writer
	teardown *teardown.Manager
}

func newReconciler(o Options) *Reconciler {
	r := &Reconciler{
		Options: o, releases: clusterrelease.Checker{Releases: o.Releases},
		apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator), oidc: oidc.NewPublisher(o.Documents, o.Clock, o.DocumentsAge),
	}
	r.capi = clusterapi.Manager{Client: o.Client, Applier: r.apply}
	r.onDemand = autonode.Writer{Reader: o.Reader, Applier: r.apply, Random: rand.Reader, Releases: o.Releases}
	r.infraIDs = infraid.Reservations{Client: o.Client, Reader: o.Reader, Applier: r.apply, Clock: o.Clock, Namespace: o.Namespace}
	r.users = publishedsecrets.Publisher{Client: o.Client, Reader: o.PublishedSecrets, Applier: r.apply}
	r.teardown = &teardown.Manager{
		Client: o.Client, Reader: o.Reader, Recorder: o.Recorder, Clock: o.Clock,
		Documents: r.oidc, InfraIDs: r.infraIDs, EndpointServices: o.PrivateRegion != "",
	}
	if o.MissingCRDs == "" {
		r.teardown.ClusterAPI = &r.capi
	}
	return r
}

// Controller reconciles HostedClusters.
type Controller = reconcile.Controller[*hyperv1.HostedCluster, *scope]

// New returns the reconciler.
func New(o Options) reconcile.Reconciler {
	r := newReconciler(o)
	return r.afterOrphans(r.controller())
}

// afterOrphans deletes the remains of a former HostedCluster of the same name, and then
// reconciles the HostedCluster.
func (r *Reconciler) afterOrphans(c *Controller) reconcile.Reconciler {
	return reconcile.Sequence(r.orphans(), c)
}

// classify turns errors of steps into conditions. An error of the API server, such
// as a conflict, is no evidence about the cluster.
var classify = reconcile.Classifier{
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
}

// controller is the controller of the HostedClusters that exist.
func (r *Reconciler) controller() *Controller {
	live := []reconcile.Step[*scope]{
		{Name: "configuration", Condition: hyperv1.ValidHostedClusterConfiguration, Run: r.checkConfiguration},
		{Name: "support by this installation", Condition: hyperv1.SupportedHostedCluster, Run: r.checkSupport},
		{Name: "identifiers", Run: r.ensureIdentifiers},
		{Name: "namespace", Run: r.ensureNamespace},
		reconcile.Group(
			// All objects that are created after it count.
			reconcile.Step[*scope]{Name: "limits of the namespace", Run: r.ensureLimits},
			// Its pod takes longest to start.
			reconcile.Step[*scope]{Name: "pull secret", Run: r.ensurePullSecret},
			reconcile.Step[*scope]{Name: "control-plane-operator", Run: r.ensureOperator},
			reconcile.Step[*scope]{Name: "token issuer", Condition: hyperv1.ValidOIDCConfiguration, Run: r.ensureIssuer},
			reconcile.Step[*scope]{Name: "rotation of the signing key", Run: r.rotateSigningKey},
			reconcile.Step[*scope]{Name: "copies of user objects", Run: r.ensureCopies},
			reconcile.Step[*scope]{Name: "certificate authorities of the proxy", Condition: hyperv1.ValidProxyConfiguration, Run: r.checkProxyTrust},
			reconcile.Step[*scope]{Name: "unmanaged etcd credentials", Condition: hyperv1.UnmanagedEtcdAvailable, Run: r.checkEtcdClient},
			reconcile.Step[*scope]{Name: "credentials", Condition: hyperv1.PlatformCredentialsFound, Run: r.checkCredentials},
			reconcile.Step[*scope]{Name: "release image", Condition: hyperv1.ValidReleaseImage, Run: r.checkRelease},
			// The Cluster owns the HostedControlPlane.
			reconcile.Step[*scope]{Name: "Cluster API objects", Run: r.ensureCluster},
			reconcile.Step[*scope]{Name: "HostedControlPlane", Run: r.ensureControlPlane},
			reconcile.Step[*scope]{Name: "network policies", Run: r.ensurePolicies},
			reconcile.Step[*scope]{Name: "Cluster API controllers", Run: r.ensureWorkers},
			reconcile.Step[*scope]{Name: "nodes on demand", Run: r.ensureAutoNode},
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
			// The status writer writes only fields that have changed since it was created.
			s.identityRejectedSince = teardown.UpdateFacts(hc, s.hcp, r.Clock.Now())
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
		Spacing: reconcile.DefaultSpacing, Prompt: []string{hyperv1.HostedClusterAvailable},
		CanWait: []string{"version", "controlPlaneVersion", "payloadArch", "controlPlaneEndpoint", "observedGeneration"},
		Status:  r.summarize, Classify: classify,
		Resync: func(*scope) time.Duration { return r.Resync }, NoLaterThan: func(s *scope) time.Duration { return sooner(noLaterThan(s), r.rotationCheckAfter(s)) },
		MaxBackoff: 5 * time.Minute,
		Workers:    workers,
	}
}

// orphans is the controller of control planes without a HostedCluster, because the HostedCluster was deleted although it had a finalizer.
// Their status is stored on their namespace.
func (r *Reconciler) orphans() *Controller {
	deleting := r.deletion()
	return &Controller{
		Name: "hostedcluster", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Get: func(_ context.Context, key client.ObjectKey) (*hyperv1.HostedCluster, error) {
			return &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, nil
		},
		Scope: func(ctx context.Context, hc *hyperv1.HostedCluster, _ *reconcile.Writer[*hyperv1.HostedCluster]) (*scope, error) {
			adopted, err := r.teardown.FindAdopted(ctx, hc)
			if adopted == nil && err == nil {
				return nil, reconcile.Skip(0)
			}
			if err != nil {
				return nil, err
			}
			s, err := r.gather(ctx, hc)
			if err != nil {
				return nil, err
			}
			if adopted.Replaced {
				s.pools = nil
			}
			s.save = adopted.Save
			s.identityRejectedSince = teardown.UpdateFacts(hc, s.hcp, r.Clock.Now())
			return s, nil
		},
		Phase:  func(*scope) []reconcile.Step[*scope] { return deleting },
		Status: r.summarize, Classify: classify,
		Save:   func(ctx context.Context, s *scope) error { return s.save(ctx) },
		Resync: func(*scope) time.Duration { return r.Resync }, NoLaterThan: noLaterThan,
	}
}

// deletion are the steps of package teardown.
func (r *Reconciler) deletion() []reconcile.Step[*scope] {
	var steps []reconcile.Step[*scope]
	for _, step := range r.teardown.Steps() {
		steps = append(steps, reconcile.Step[*scope]{Name: step.Name, Run: func(ctx context.Context, s *scope) error { return step.Run(ctx, r.deletionOf(s)) }})
	}
	return steps
}

// deletionOf returns the facts that package teardown needs. They are the same for all steps of a reconcile.
func (r *Reconciler) deletionOf(s *scope) *teardown.Cluster {
	if s.deletion != nil {
		return s.deletion
	}
	issuer := teardown.Requirement{Name: "the token issuer", Ensure: func(ctx context.Context) error { return r.ensureIssuer(ctx, s) }}
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		issuer.Copy = names.ServiceAccountSigningKey
	}
	s.deletion = &teardown.Cluster{
		HostedCluster: s.hc, Plane: s.plane, Namespace: s.namespace, ControlPlane: s.hcp, Endpoints: s.endpoints, NodePools: s.pools,
		Machines: s.machinesCluster(), Operator: s.operator, OperatorProblem: s.health.Problem, IdentityRejectedSince: s.identityRejectedSince, Save: s.save,
		OperatorRequirements: []teardown.Requirement{
			issuer,
			{Name: "the pull secret", Copy: names.PullSecret, Ensure: func(ctx context.Context) error { return r.ensurePullSecret(ctx, s) }},
			{Name: "the control-plane-operator", Ensure: func(ctx context.Context) error { return r.ensureOperator(ctx, s) }},
		},
		RunMachineControllers: func(ctx context.Context) error { return r.ensureWorkers(ctx, s) },
	}
	return s.deletion
}

// noLaterThan is the end of a pause, the time at which a control-plane-operator that does not start has to be reported, or the
// next event of the sleep schedule. Resync is for unwatched objects: the user's Secrets, the OIDC documents.
func noLaterThan(s *scope) time.Duration {
	next := s.sleep.Remaining
	if s.paused {
		next = s.pauseLeft
	}
	return sooner(next, s.health.CheckAfter)
}

// sooner returns the shorter of two times; 0 is no time.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// summarize evaluates the conditions; the engine has already set the steps' conditions.
func (r *Reconciler) summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	reports := s.hcp // its reports are about the present spec
	if !s.specApplied || s.health.Problem != "" {
		reports = nil
	}
	previous := s.hc.Status.Version.DeepCopy()
	if !s.deleting() {
		s.releases.Record(s.hc, reports, r.Clock.Now())
	}
	if s.hcp != nil {
		s.hc.Status.ControlPlaneEndpoint = s.hcp.Status.ControlPlaneEndpoint
		s.hc.Status.Platform = s.hcp.Status.Platform
		s.hc.Status.SecretEncryption = secretencryption.Status(s.hcp.Status.SecretEncryptionRecord)
		s.hc.Status.AutoNode = s.hcp.Status.AutoNode
	}
	f := &clusterconditions.Facts{
		HostedCluster: s.hc, ControlPlane: s.hcp, Endpoints: s.endpoints, Report: report, Steps: conditions,
		Paused: s.paused, InvalidPause: s.invalidPause(), OperatorProblem: s.health.Problem,
		Releases: s.releases, PreviousVersion: previous,
		SpecApplied: s.specApplied, Tolerated: s.tolerated, ImageOverrides: r.AllowOperatorImageOverride,
		Sleep: s.sleep, Machines: s.machines,
		NodesExpected: slices.ContainsFunc(s.pools, asksForNodes), Backups: s.backups, SigningKey: r.reportSigningKey(s),
	}
	if last := clusterconditions.LastBackup(s.backups, clusterconditions.Stored); last != nil {
		s.hc.Status.LastSuccessfulEtcdBackupURL = last.Status.SnapshotURL
	}
	if r.PoliciesEnforced != nil {
		f.Policies = r.PoliciesEnforced()
	}
	f.Evaluate()
	s.hc.Status.ObservedGeneration = s.hc.Generation
	for _, e := range f.Events() {
		r.Recorder.Eventf(s.hc, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
}
