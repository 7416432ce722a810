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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsidentity"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsprivatelink"
	cpo "github.com/hosted-control-planes/hypershift/control-plane-operator/operator"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	platformaws "github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/platform/aws"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/memory"
	"github.com/hosted-control-planes/hypershift/internal/names"
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
func hypershiftOperator(ctx context.Context, cfg *rest.Config, aws *cloud, watch *writes, change func(*operator.Options)) (*operator.Operator, error) {
	opts, err := optionsHO(aws)
	if err != nil {
		return nil, err
	}
	opts.TestHooks.NewClient, opts.TestHooks.Shared = watch.newClient, true
	memory.LimitGarbage() // as the program does
	if change != nil {
		change(&opts)
	}
	return operator.New(ctx, cfg, opts)
}

// releaseImage is the release of the clusters and pools.
const releaseImage = "registry.example.test/kubernetes-release:v1.36.3"

// optionsHO are those of an installation with all features, in a test environment.
func optionsHO(aws *cloud) (operator.Options, error) {
	if err := aws.signIn(); err != nil {
		return operator.Options{}, err
	}
	return operator.Options{
		MetricsAddr: "0", HealthAddr: "0", ControlPlaneOperatorImage: "registry.example.test/hypershift:bench",
		PrivateAWS: true, Region: region, OIDC: operator.OIDC{Bucket: bucket, Region: region},
		Limits:       limits.Default(),
		ResyncPeriod: resyncHO, PermissionsPeriod: permissionsPeriod, DocumentsPeriod: documentsPeriod,
		TestHooks: operator.TestHooks{AWS: []func(*middleware.Stack) error{aws.Install}, Releases: fakerelease.New(fakerelease.Kubernetes(releaseImage, "1.36.3"))},
	}, nil
}

// endpointServices is the provider's half of PrivateLink without a manager.
func endpointServices(ctx context.Context, c client.Client, aws *cloud) (*platformaws.Controller, error) {
	opts, err := optionsHO(aws)
	if err != nil {
		return nil, err
	}
	half, err := operator.EndpointServices(ctx, c, c, discard{}, opts)
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
		TestHooks: cpo.TestHooks{NewClient: watch.newClient, AWS: []func(*middleware.Stack) error{aws.Install}, Shared: true},
	})
	if err != nil {
		return nil, err
	}
	return o, errors.Join(o.AddPrivateLink(), o.AddAWSIdentity())
}

// controlPlaneOperator has the inputs of the control-plane-operator's controllers without a manager.
func controlPlaneOperator(c client.Client, secrets client.Reader, cl *cluster, aws *cloud) (awsprivatelink.Options, awsidentity.Options) {
	signer := &tokensigner.Signer{Client: secrets, Namespace: cl.namespace(), Clock: clock.RealClock{}}
	sessions := identity.New(identity.Options{
		Name: names.ControlPlaneOperator, Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: clock.RealClock{}, Middleware: []func(*middleware.Stack) error{aws.Install},
	})
	return awsprivatelink.Options{Client: c, Reader: secrets, Scheme: scheme, Clock: clock.RealClock{}, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resyncCPO},
		awsidentity.Options{Client: c, Reader: secrets, Clock: clock.RealClock{}, Sessions: sessions, KeyReady: signer.Ready, Interval: identityInterval}
}
