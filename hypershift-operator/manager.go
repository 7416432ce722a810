package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/hostedcluster"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/nodepool"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/platform/aws"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/awsx/meter"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// newManager returns a manager with all controllers.
func newManager(ctx context.Context, cfg *rest.Config, opts options) (ctrl.Manager, error) {
	// Priority and fairness of the API server know better than a fixed rate.
	cfg.QPS = -1
	scheme := newScheme()
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(),
		Metrics:                       server.Options{BindAddress: opts.MetricsAddr},
		HealthProbeBindAddress:        opts.HealthAddr,
		LeaderElection:                opts.LeaderElect,
		LeaderElectionID:              names.HypershiftOperator,
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	calls, err := meter.New(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering the count of AWS calls: %w", err)
	}
	if err := setupHostedClusters(ctx, mgr, opts, calls); err != nil {
		return nil, err
	}
	nodePools := nodepool.New(nodepool.Options{Client: mgr.GetClient(), Clock: clock.RealClock{}})
	if err := nodePools.SetupWithManager(mgr, controllerOptions()); err != nil {
		return nil, fmt.Errorf("setting up NodePools: %w", err)
	}
	if opts.PrivatePlatform == privateAWS {
		if err := setupEndpointServices(ctx, mgr, opts, calls); err != nil {
			return nil, err
		}
	}
	return mgr, errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("cache", synced(mgr.GetCache())),
	)
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}

// cacheOptions keep everything out of memory that is not ours. What belongs to
// the user, and what only might be ours, is read from the API server.
func cacheOptions() cache.Options {
	ours := cache.ByObject{Label: hostedcluster.Made()}
	controlPlanes, err := labels.NewRequirement(hyperv1.ControlPlaneNamespaceLabel, selection.Exists, nil)
	utilruntime.Must(err)
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Namespace{}:      {Label: labels.NewSelector().Add(*controlPlanes)},
			&corev1.Secret{}:         ours,
			&corev1.ServiceAccount{}: ours,
			&rbacv1.Role{}:           ours,
			&rbacv1.RoleBinding{}:    ours,
			&appsv1.Deployment{}:     ours,
		},
	}
}

// controllerOptions retry a failure after a second, and less and less often.
func controllerOptions() controller.Options {
	return controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, 5*time.Minute)}
}

func setupHostedClusters(ctx context.Context, mgr ctrl.Manager, opts options, calls *meter.Meter) error {
	o := hostedcluster.Options{
		Client:                    mgr.GetClient(),
		Reader:                    mgr.GetAPIReader(),
		Scheme:                    mgr.GetScheme(),
		Recorder:                  mgr.GetEventRecorder(names.HypershiftOperator),
		Clock:                     clock.RealClock{},
		GenerateKey:               webidentity.GenerateKey,
		ControlPlaneOperatorImage: opts.ControlPlaneOperatorImage,
		Resync:                    opts.ResyncPeriod,
		DocumentsAge:              opts.DocumentsPeriod,
	}
	if opts.PrivatePlatform == privateAWS {
		o.PrivateRegion = opts.Region
	}
	if opts.OIDC.Bucket != "" {
		session := awsx.Options{Region: opts.OIDC.Region, CredentialsFile: opts.OIDC.Credentials}
		session.Middleware = append(session.Middleware, calls.Middleware)
		cfg, err := awsx.NewConfig(ctx, session)
		if err != nil {
			return err
		}
		o.Documents = oidcdocs.New(awsx.S3(cfg), opts.OIDC.Bucket)
	}
	if err := hostedcluster.New(o).SetupWithManager(mgr, controllerOptions()); err != nil {
		return fmt.Errorf("setting up HostedClusters: %w", err)
	}
	return nil
}

func setupEndpointServices(ctx context.Context, mgr ctrl.Manager, opts options, calls *meter.Meter) error {
	session := awsx.Options{Region: opts.Region}
	session.Middleware = append(session.Middleware, calls.Middleware)
	cfg, err := awsx.NewConfig(ctx, session)
	if err != nil {
		return err
	}
	// A listing is shared by the objects that come by within most of a period,
	// so that one period costs about one listing, and each pass of an object
	// sees one that is newer than its last pass.
	age := opts.ResyncPeriod * 3 / 4
	r := aws.New(aws.Options{
		Client:        mgr.GetClient(),
		Recorder:      mgr.GetEventRecorder(names.HypershiftOperator),
		Clock:         clock.RealClock{},
		LoadBalancers: loadbalancer.New(awsx.ELBv2(cfg), clock.RealClock{}, age),
		Services:      endpointservice.New(awsx.EC2(cfg), clock.RealClock{}, endpointservice.Options{MaxAge: age, PermissionsAge: opts.PermissionsPeriod}),
		Resync:        opts.ResyncPeriod,
	})
	if err := r.SetupWithManager(mgr, controllerOptions()); err != nil {
		return fmt.Errorf("setting up AWSEndpointServices: %w", err)
	}
	return nil
}

// synced says whether the operator knows the cluster yet.
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
