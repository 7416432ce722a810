package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go/middleware"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsprivatelink"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/probe"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/identity"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/hostedcluster"
	platformaws "github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/platform/aws"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// The periods are the operators' defaults.
const (
	resyncHO          = 30 * time.Minute
	permissionsPeriod = endpointservice.DefaultPermissionsAge
	documentsPeriod   = 6 * time.Hour
	resyncCPO         = 30 * time.Minute
	identityInterval  = 30 * time.Minute
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

// newManager returns a manager as the operators make it, whose client is seen by watch.
func newManager(cfg *rest.Config, opts cache.Options, watch *writes) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	opts.DefaultTransform = cache.TransformStripManagedFields()
	return ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Cache: opts, NewClient: watch.newClient,
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // both operators, and one after the other
	})
}

func controllerOptions() controller.Options {
	return controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, 5*time.Minute)}
}

// endpointServices is the provider's half of PrivateLink as the hypershift-operator makes it.
func endpointServices(c client.Client, recorder events.EventRecorder, aws *cloud, resync, permissions time.Duration) *platformaws.Reconciler {
	cfg, age := aws.operator(), resync*3/4
	return platformaws.New(platformaws.Options{
		Client: c, Recorder: recorder, Clock: clock.RealClock{},
		LoadBalancers: loadbalancer.New(awsx.ELBv2(cfg), clock.RealClock{}, age),
		Services:      endpointservice.New(awsx.EC2(cfg), clock.RealClock{}, endpointservice.Options{MaxAge: age, PermissionsAge: permissions}),
		Resync:        resync,
	})
}

// setupHO adds the provider's half of PrivateLink to a manager.
func setupHO(ctx context.Context, mgr ctrl.Manager, aws *cloud, resync, permissions time.Duration) error {
	r := endpointServices(mgr.GetClient(), mgr.GetEventRecorder(names.HypershiftOperator), aws, resync, permissions)
	return errors.Join(index.Register(ctx, mgr.GetFieldIndexer()), r.SetupWithManager(mgr, controllerOptions()))
}

// cacheHO is what the hypershift-operator keeps in memory.
func cacheHO() cache.Options {
	ours := cache.ByObject{Label: hostedcluster.Made()}
	controlPlanes, err := labels.Parse(hyperv1.ControlPlaneNamespaceLabel)
	utilruntime.Must(err)
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Namespace{}: {Label: controlPlanes}, &corev1.Secret{}: ours, &corev1.ServiceAccount{}: ours,
		&rbacv1.Role{}: ours, &rbacv1.RoleBinding{}: ours, &appsv1.Deployment{}: ours,
	}}
}

// setupHostedClusters adds the HostedCluster controller. It comes after setupHO.
func setupHostedClusters(mgr ctrl.Manager, aws *cloud, generateKey func() (private, public []byte, err error)) error {
	return hostedcluster.New(hostedcluster.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Scheme: mgr.GetScheme(), Recorder: mgr.GetEventRecorder(names.HypershiftOperator),
		Clock: clock.RealClock{}, GenerateKey: generateKey, Documents: oidcdocs.New(awsx.S3(aws.operator()), bucket), PrivateRegion: region,
		ControlPlaneOperatorImage: "registry.example.test/hypershift:bench", Resync: resyncHO, DocumentsAge: documentsPeriod,
	}).SetupWithManager(mgr, controllerOptions())
}

// controlPlaneOperator is what the controllers of a control-plane-operator are made of.
func controlPlaneOperator(c client.Client, secrets client.Reader, cl *cluster, aws *cloud) (awsprivatelink.Options, probe.Options) {
	signer := &identity.Signer{Client: secrets, Namespace: cl.namespace(), Clock: clock.RealClock{}}
	sessions := session.New(session.Options{
		Name: names.ControlPlaneOperator, Token: signer.Token, Clock: clock.RealClock{}, Middleware: []func(*middleware.Stack) error{aws.Install},
	})
	return awsprivatelink.Options{Client: c, Scheme: scheme, Clock: clock.RealClock{}, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resyncCPO},
		probe.Options{Client: c, Clock: clock.RealClock{}, Sessions: sessions, KeyReady: signer.Ready, Interval: identityInterval}
}

// setupCPO adds the customer's half of PrivateLink and the identity probe to a manager.
func setupCPO(mgr ctrl.Manager, cl *cluster, aws *cloud) error {
	link, identity := controlPlaneOperator(mgr.GetClient(), mgr.GetAPIReader(), cl, aws)
	return errors.Join(awsprivatelink.Setup(mgr, link), probe.Setup(mgr, identity))
}
