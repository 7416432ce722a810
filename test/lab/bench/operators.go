package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go/middleware"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsidentity"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsprivatelink"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	cpo "github.com/hosted-control-planes/hypershift/control-plane-operator/operator"
	platformaws "github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/platform/aws"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	clustermetrics "github.com/hosted-control-planes/hypershift/hypershift-operator/operator/metrics"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/memory"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

// The periods are the operators' defaults.
const (
	resyncHO          = 30 * time.Minute
	permissionsPeriod = awsx.PrincipalsTTL
	documentsPeriod   = 6 * time.Hour
	resyncCPO         = 30 * time.Minute
	identityInterval  = 45 * time.Minute
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

// hypershiftOperator is the program as it ships, without controllers. watch counts the writes of its client.
func hypershiftOperator(ctx context.Context, cfg *rest.Config, aws *cloud, watch *writes, change func(*operator.Options, *operator.Dependencies)) (*operator.Operator, error) {
	opts, deps, err := installation(aws)
	if err != nil {
		return nil, err
	}
	deps.Manager = manager(watch)
	memory.LimitGarbage() // as the program does
	if change != nil {
		change(&opts, &deps)
	}
	return operator.New(ctx, cfg, opts, deps)
}

// manager returns the options of a manager that shares its process with others.
func manager(watch *writes) ctrl.Options {
	return ctrl.Options{NewClient: watch.newClient, Controller: config.Controller{SkipNameValidation: ptr.To(true)}}
}

// releaseImage is the release of the clusters and pools.
const releaseImage = "registry.example.test/kubernetes-release:v1.36.3"

// installation returns the options and dependencies of an installation with all features, in a test environment.
func installation(aws *cloud) (operator.Options, operator.Dependencies, error) {
	if err := aws.signIn(); err != nil {
		return operator.Options{}, operator.Dependencies{}, err
	}
	opts := operator.Options{
		MetricsAddr: "0", HealthAddr: "0", ControlPlaneOperatorImage: "registry.example.test/hypershift:bench",
		PrivateAWS: true, Region: region, OIDC: operator.OIDC{Bucket: bucket, Region: region},
		Limits:       limits.Default(),
		ResyncPeriod: resyncHO, PermissionsPeriod: permissionsPeriod, DocumentsPeriod: documentsPeriod,
	}
	deps, err := operator.NewDependencies(opts)
	deps.AWS, deps.Releases = append(deps.AWS, aws.Install), fakerelease.New(fakerelease.Kubernetes(releaseImage, "1.36.3"))
	return opts, deps, err
}

// addClusterMetrics adds the metrics of clusters and pools, which an operator without an address for metrics does not have.
func addClusterMetrics(ho *operator.Operator) error {
	return ho.Add(clustermetrics.New(clustermetrics.Options{
		Cache: ho.GetCache(), Clock: clock.RealClock{}, Registerer: metrics.Registry,
		InstanceTypes: func(_, _ string) *instancetypes.Type { return nil },
	}))
}

// providersHalf returns the inputs of the provider's half of PrivateLink.
func providersHalf(ctx context.Context, c client.Client, reader client.Reader, recorder events.EventRecorder, aws *cloud, resync, permissions time.Duration) (platformaws.Options, error) {
	_, deps, err := installation(aws)
	if err != nil {
		return platformaws.Options{}, err
	}
	cfg, err := awsx.NewConfig(ctx, awsx.Options{Region: region, Middleware: deps.AWS})
	if err != nil {
		return platformaws.Options{}, err
	}
	return platformaws.Options{Client: c, Reader: reader, Recorder: recorder, Clock: clock.RealClock{}, Resync: resync}.WithAWS(cfg, permissions), nil
}

// addProvidersHalf adds the controller of the provider's half of PrivateLink alone.
func addProvidersHalf(ctx context.Context, ho *operator.Operator, aws *cloud, resync, permissions time.Duration) error {
	opts, err := providersHalf(ctx, ho.GetClient(), ho.GetAPIReader(), ho.GetEventRecorder(names.HypershiftOperator), aws, resync, permissions)
	if err != nil {
		return err
	}
	return platformaws.Setup(ho, opts)
}

// endpointServices is the provider's half of PrivateLink without a manager.
func endpointServices(ctx context.Context, c client.Client, aws *cloud) (*platformaws.Controller, error) {
	half, err := providersHalf(ctx, c, c, discard{}, aws, resyncHO, permissionsPeriod)
	if err != nil {
		return nil, err
	}
	return platformaws.New(half), nil
}

// customersHalf is the control-plane-operator as it ships, with the controllers that call AWS for PrivateLink. watch
// counts the writes of its client.
func customersHalf(cfg *rest.Config, cl *cluster, aws *cloud, watch *writes) (*cpo.Operator, error) {
	o, err := cpo.New(cfg, cpo.Options{
		Namespace: cl.namespace(), MetricsAddr: "0", HealthAddr: "0", ResyncPeriod: resyncCPO, IdentityInterval: identityInterval,
	}, cpo.Dependencies{Manager: manager(watch)})
	if err != nil {
		return nil, err
	}
	link, roles := controlPlaneOperator(o.GetClient(), o.GetAPIReader(), cl, aws)
	link.Scheme, link.Recorder = o.GetScheme(), o.GetEventRecorder(names.ControlPlaneOperator)
	roles.TakeRole = func(ctx context.Context, region, issuerURL, roleARN, subject string) error {
		return link.Sessions.TakeRole(ctx, identity.Target{Region: region, IssuerURL: issuerURL, RoleARN: roleARN, Subject: subject})
	}
	return o, errors.Join(awsprivatelink.Setup(o, link), awsidentity.Setup(o, roles))
}

// controlPlaneOperator returns the inputs of the control-plane-operator's controllers without a manager.
func controlPlaneOperator(c client.Client, secrets client.Reader, cl *cluster, aws *cloud) (awsprivatelink.Options, awsidentity.Options) {
	signer := &tokensigner.Signer{Client: secrets, Namespace: cl.namespace(), Clock: clock.RealClock{}}
	sessions := identity.New(identity.Options{
		Name: names.ControlPlaneOperator, Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: clock.RealClock{}, Middleware: []func(*middleware.Stack) error{aws.Install},
	})
	return awsprivatelink.Options{Client: c, Reader: secrets, Scheme: scheme, Clock: clock.RealClock{}, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resyncCPO},
		awsidentity.Options{Client: c, Status: controlplanestatus.New(c, secrets), Clock: clock.RealClock{}, Sessions: sessions, KeyReady: signer.Ready, Interval: identityInterval}
}
