// Package operator puts the hypershift-operator together: its manager, its cache, its sessions with AWS, its controllers.
package operator

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/bootstrap"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/breakglass"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/hostedcluster"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/nodepool"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/platform/aws"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/sharedrouter"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/stoppednodes"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/isolation"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/accessapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/contents"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/metrics"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/metricsauth"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/metricsclient"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/policycheck"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/publishedconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/versionpublisher"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/zonepublisher"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/dedup"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/kubescheme"
	"github.com/hosted-control-planes/hypershift/internal/leader"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/profiling"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/routes"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// noServer is the address of a server that the operator does not have.
const noServer = "0"

// An Operator is a manager to which controllers are added.
type Operator struct {
	ctrl.Manager
	options       Options
	deps          Dependencies
	instanceTypes *instancetypes.Cache
	// policies is nil if the operator is not a pod.
	policies *policycheck.Checker
}

// New returns an operator without controllers.
func New(ctx context.Context, cfg *rest.Config, opts Options, deps Dependencies) (*Operator, error) {
	// Priority and fairness of the API server know better than a fixed rate.
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	manager := deps.Manager
	manager.Scheme, manager.Cache = newScheme(), cacheOptions(opts)
	serve(&manager, opts)
	if opts.LeaderElect {
		lease := leader.Lease{Namespace: opts.Namespace, Name: names.HypershiftOperator, Timing: leader.One}
		if err := lease.Require(&manager, cfg); err != nil {
			return nil, err
		}
	}
	mgr, err := ctrl.NewManager(cfg, manager)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	types, err := newInstanceTypes(ctx, opts, deps)
	if err != nil {
		return nil, err
	}
	o := &Operator{Manager: mgr, options: opts, deps: deps, instanceTypes: types}
	if opts.PodIP.IsValid() {
		o.policies = policycheck.New(policycheck.Options{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: clock.RealClock{},
			Pod: opts.PodIP, Namespace: opts.Namespace, Dial: policycheck.From(opts.PodIP),
		})
		if err := mgr.Add(o.policies); err != nil {
			return nil, fmt.Errorf("adding the check of NetworkPolicies: %w", err)
		}
	}
	return o, errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("cache", synced(mgr.GetCache())),
	)
}

// serve sets the manager's servers and their addresses.
func serve(manager *ctrl.Options, opts Options) {
	manager.Metrics, manager.HealthProbeBindAddress = metricsOptions(opts.MetricsAddr), opts.HealthAddr
	if opts.Profiling {
		manager.PprofBindAddress = profiling.Address
	}
}

// metricsOptions authorize clients by a token of the management cluster with
// permission to get /metrics. The metrics name the clusters of all tenants.
func metricsOptions(address string) server.Options {
	return server.Options{
		BindAddress: address, SecureServing: true, TLSOpts: []func(*tls.Config){metricstls.SelfSigned}, FilterProvider: metricsauth.NewFilter,
	}
}

// GetEventRecorder returns a recorder that loses no event because of its length.
func (o *Operator) GetEventRecorder(name string) recorder.EventRecorder {
	return events.Bounded(o.Manager.GetEventRecorder(name))
}

// AddControllers adds those that the options ask for.
func (o *Operator) AddControllers(ctx context.Context) error {
	sources, err := newSources(o)
	if err != nil {
		return err
	}
	users := contents.New(o.GetAPIReader(), sources, clock.RealClock{})
	if err := errors.Join(o.addHostedClusters(ctx, sources, users), o.addNodePools(users), o.addNodeBootstraps(), o.addEtcdBackups(), o.addBreakGlass(), o.addStoppedNodes(), o.addSupportedVersions()); err != nil {
		return err
	}
	if o.options.MetricsAddr != noServer {
		if err := o.addMetrics(); err != nil {
			return err
		}
	}
	if o.options.AccessAddr != noServer {
		if err := o.addAccessAPI(); err != nil {
			return err
		}
	}
	if !o.options.PrivateAWS {
		return nil
	}
	return o.addEndpointServices(ctx)
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(kubescheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	utilruntime.Must(certificatesv1alpha1.AddToScheme(s))
	utilruntime.Must(clusterv1.AddToScheme(s))
	utilruntime.Must(infrav1.AddToScheme(s))
	return s
}

// cacheOptions keep everything out of memory that is not ours. Objects of users, and objects that only might be ours, are read from the API
// server.
func cacheOptions(opts Options) cache.Options {
	owned := cache.ByObject{Label: hostedcluster.AppliedObjects()}
	controlPlanes, err := labels.NewRequirement(hyperv1.ControlPlaneNamespaceLabel, selection.Exists, nil)
	utilruntime.Must(err)
	managementAPI := cache.ByObject{
		Namespaces: map[string]cache.Config{isolation.ManagementAPI.Namespace: {}},
		Label:      labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: isolation.ManagementAPI.Name}),
	}
	services := cache.ByObject{Namespaces: map[string]cache.Config{
		isolation.ManagementAPI.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", isolation.ManagementAPI.Name)},
	}}
	if opts.SharedRouter {
		services.Namespaces[opts.Namespace] = cache.Config{}
		services.Namespaces[cache.AllNamespaces] = cache.Config{LabelSelector: labels.SelectorFromSet(labels.Set{hyperv1.SharedRouterTargetLabel: "true"})}
	}
	slim := lean()
	options := cache.Options{
		DefaultTransform: slim,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Namespace{}:      {Label: labels.NewSelector().Add(*controlPlanes)},
			&corev1.Secret{}:         {Label: hostedcluster.AppliedObjects(slices.Concat(objects.Sets(), bootstrap.Sets())...)},
			&corev1.ConfigMap{}:      {Label: hostedcluster.AppliedObjects(sharedrouter.Set)},
			&corev1.ServiceAccount{}: owned,
			&corev1.ResourceQuota{}:  owned,
			&corev1.LimitRange{}:     owned,
			&rbacv1.Role{}:           owned,
			&rbacv1.RoleBinding{}:    owned,
			&appsv1.Deployment{}:     owned,

			&rbacv1.ClusterRoleBinding{}:  owned,
			&networkingv1.NetworkPolicy{}: owned,
			&discoveryv1.EndpointSlice{}:  managementAPI,
			&corev1.Service{}:             services,
			&clusterv1.Cluster{}:          owned,
			&infrav1.AWSCluster{}:         owned,
			&corev1.Node{}:                {Transform: stoppednodes.Trim},
			// Those of the whole management cluster: an API server selects one signer, not a domain.
			&certificatesv1.CertificateSigningRequest{}: {Transform: func(obj any) (any, error) {
				obj, err := breakglass.Trim(obj)
				if err != nil {
					return nil, err
				}
				return slim(obj)
			}},
		},
	}
	pools, err := labels.NewRequirement(hyperv1.NodePoolLabel, selection.Exists, nil)
	utilruntime.Must(err)
	for _, kind := range objects.Kinds() {
		options.ByObject[kind] = cache.ByObject{Label: labels.NewSelector().Add(*pools)}
	}
	return options
}

// lean removes metadata that other programs write for themselves: managed fields, and the copy of a whole object that kubectl
// keeps in an annotation. It shares the values that the objects of many clusters have in common, which is most of them.
func lean() toolscache.TransformFunc {
	strip, shared := cache.TransformStripManagedFields(), dedup.NewShared()
	return func(obj any) (any, error) {
		obj, err := strip(obj)
		if err != nil {
			return nil, err
		}
		if o, ok := obj.(client.Object); ok {
			// An informer may pass an object a second time. Its annotations are shared by then, and must not be written.
			if annotations := o.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
				delete(annotations, corev1.LastAppliedConfigAnnotation)
			}
		}
		return shared.Transform(obj)
	}
}

// addHostedClusters adds the controller that makes control planes. sources report changes of users' objects, and users reads them.
func (o *Operator) addHostedClusters(ctx context.Context, sources cache.Cache, users client.Reader) error {
	published, err := newPublished(o)
	if err != nil {
		return err
	}
	servesRoutes, err := routes.Served(o.GetRESTMapper())
	if err != nil {
		return err
	}
	opts := hostedcluster.Options{
		ServesRoutes:               servesRoutes,
		Sources:                    sources,
		Published:                  published,
		Client:                     o.GetClient(),
		Reader:                     o.GetAPIReader(),
		UserObjects:                users,
		PublishedSecrets:           contents.New(o.GetAPIReader(), published, clock.RealClock{}),
		Scheme:                     o.GetScheme(),
		Recorder:                   o.GetEventRecorder(names.HypershiftOperator),
		Clock:                      clock.RealClock{},
		GenerateKey:                o.deps.GenerateKey,
		ControlPlaneOperatorImage:  o.options.ControlPlaneOperatorImage,
		RegistryOverrides:          o.options.RegistryOverrides,
		Profiling:                  o.options.Profiling,
		SkipLoadBalancerChecks:     !o.options.CheckLoadBalancers,
		LoadBalancers:              o.options.LoadBalancers,
		ClusterAPIImage:            o.options.ClusterAPIImage,
		CAPIProviderImage:          o.options.CAPIProviderImage,
		Egress:                     o.options.Egress,
		AllowOperatorImageOverride: o.options.AllowOperatorImageOverride,
		SharedRouter:               o.options.SharedRouter,
		Namespace:                  o.options.Namespace,
		Limits:                     o.options.Limits,
		Sizes:                      o.options.Sizes,
		ManagementAPIEndpoints:     o.options.ManagementAPIEndpoints,
		BlockedCIDRs:               o.options.BlockedCIDRs,
		Releases:                   o.deps.Releases,
		Resync:                     o.options.ResyncPeriod,
		DocumentsAge:               o.options.DocumentsPeriod,
	}
	if o.options.MetricsAddr != noServer {
		collectors := metricsclient.New(o.GetClient(), o.GetAPIReader(), clock.RealClock{}, o.options.Namespace)
		certificate, err := collectors.Ensure(ctx)
		if err != nil {
			return fmt.Errorf("creating the certificate for collectors of metrics: %w", err)
		}
		opts.MetricsClientCA = certificate[pki.TrustKey]
		if err := o.Add(collectors); err != nil {
			return err
		}
	}
	if o.policies != nil {
		opts.PoliciesEnforced, opts.PoliciesChanged = o.policies.Enforced, o.policies.Changed
	}
	if o.options.PrivateAWS {
		opts.PrivateRegion = o.options.Region
	}
	if oidc := o.options.OIDC; oidc.Bucket != "" {
		cfg, err := o.deps.session(ctx, awsx.Options{Region: oidc.Region, CredentialsFile: oidc.Credentials})
		if err != nil {
			return err
		}
		opts.Documents = oidcdocs.New(oidcdocs.NewClient(cfg), oidc.Bucket)
	}
	if err := hostedcluster.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up HostedClusters: %w", err)
	}
	return nil
}

// addNodePools adds the controller that makes machines.
func (o *Operator) addNodePools(users client.Reader) error {
	opts := nodepool.Options{
		Client:      o.GetClient(),
		Reader:      o.GetAPIReader(),
		UserObjects: users,
		Scheme:      o.GetScheme(),
		Recorder:    o.GetEventRecorder(names.HypershiftOperator),
		Clock:       clock.RealClock{},
		Releases:    o.deps.Releases,
		Resync:      o.options.ResyncPeriod,
	}
	if o.instanceTypes != nil {
		opts.InstanceTypes = o.instanceTypes
	}
	if err := nodepool.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up NodePools: %w", err)
	}
	return nil
}

// addNodeBootstraps adds the controller that makes the user data of machines.
func (o *Operator) addNodeBootstraps() error {
	opts := bootstrap.Options{Client: o.GetClient(), Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Clock: clock.RealClock{}, Random: rand.Reader}
	if err := bootstrap.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up NodeBootstraps: %w", err)
	}
	return nil
}

// addBreakGlass adds the controller that signs certificates for access in an emergency.
func (o *Operator) addBreakGlass() error {
	opts := breakglass.Options{Client: o.GetClient(), Reader: o.GetAPIReader(), Recorder: o.GetEventRecorder(names.HypershiftOperator), Clock: clock.RealClock{}}
	if err := breakglass.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up CertificateSigningRequests: %w", err)
	}
	return nil
}

// addStoppedNodes adds the controller that lets control planes leave stopped machines.
func (o *Operator) addStoppedNodes() error {
	opts := stoppednodes.Options{Leave: o.options.LeaveStoppedNodes, Client: o.GetClient(), Reader: o.GetAPIReader(), Recorder: o.GetEventRecorder(names.HypershiftOperator), Clock: clock.RealClock{}}
	if err := stoppednodes.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up Nodes: %w", err)
	}
	return nil
}

// addMetrics adds the collector of metrics of clusters and node pools.
func (o *Operator) addMetrics() error {
	opts := metrics.Options{Cache: o.GetCache(), Clock: clock.RealClock{}, Registerer: ctrlmetrics.Registry, InstanceTypes: o.instanceTypes.Known}
	if o.policies != nil {
		opts.PoliciesEnforced = o.policies.Enforced
	}
	return o.Add(metrics.New(opts))
}

// addAccessAPI adds the API by which users get access to hosted clusters.
func (o *Operator) addAccessAPI() error {
	reviews, err := authorizationclient.NewForConfigAndClient(o.GetConfig(), o.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating the client for access reviews: %w", err)
	}
	return o.Add(accessapi.New(accessapi.Options{
		Address: o.options.AccessAddr, Client: o.GetClient(), Reader: o.GetAPIReader(), Access: reviews.SubjectAccessReviews(),
		Clock: clock.RealClock{}, Namespace: o.options.Namespace,
	}))
}

// addSupportedVersions adds the publication of the versions that hosted clusters can have.
func (o *Operator) addSupportedVersions() error {
	return o.Add(&versionpublisher.Publisher{
		Writer: publishedconfig.Writer{Client: o.GetClient(), Reader: o.GetAPIReader()}, Clock: clock.RealClock{},
		Namespace: o.options.Namespace, Version: version.Get().Version, Versions: release.SupportedVersions(),
	})
}

// addEndpointServices adds the provider's half of PrivateLink.
func (o *Operator) addEndpointServices(ctx context.Context) error {
	cfg, err := o.deps.session(ctx, awsx.Options{Region: o.options.Region})
	if err != nil {
		return err
	}
	opts := aws.Options{
		Client: o.GetClient(), Reader: o.GetAPIReader(), Recorder: o.GetEventRecorder(names.HypershiftOperator), Clock: clock.RealClock{}, Resync: o.options.ResyncPeriod,
		Namespace: o.options.Namespace, SharedRouter: o.options.SharedRouter,
	}.WithAWS(cfg, o.options.PermissionsPeriod)
	if err := aws.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up AWSEndpointServices: %w", err)
	}
	if o.options.SharedRouter {
		shared := sharedrouter.Options{
			Client: o.GetClient(), Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Clock: clock.RealClock{}, Namespace: o.options.Namespace,
			Recorder: opts.Recorder, Connections: opts.Services, Limits: o.options.SharedRouterLimits, Sources: o.options.SharedRouterSources, Resync: o.options.ResyncPeriod,
		}
		if err := sharedrouter.Setup(o, shared); err != nil {
			return fmt.Errorf("setting up the shared router: %w", err)
		}
	}
	return o.Add(&zonepublisher.Publisher{Writer: publishedconfig.Writer{Client: o.GetClient(), Reader: o.GetAPIReader()}, Clock: clock.RealClock{}})
}

// synced reports whether the cache has synced.
func synced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), 100*time.Millisecond)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("still reading the cluster")
		}
		return nil
	}
}
