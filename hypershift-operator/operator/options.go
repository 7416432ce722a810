package operator

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sizes"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/awsx/meter"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/logs"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// Options are the operator's settings at its start.
type Options struct {
	Namespace   string
	MetricsAddr string
	HealthAddr  string
	// AccessAddr is the address of the API by which users get access to hosted clusters; 0 for none.
	AccessAddr  string
	LeaderElect bool
	// Profiling serves profiles on loopback, here and in the control-plane-operators.
	Profiling bool

	ControlPlaneOperatorImage string
	// ClusterAPIImage and CAPIProviderImage make the machines of node pools.
	ClusterAPIImage, CAPIProviderImage string
	// AllowOperatorImageOverride lets an annotation of a HostedCluster replace it.
	AllowOperatorImageOverride bool

	// PrivateAWS allows private clusters on AWS.
	PrivateAWS bool
	// Region is where endpoint services are created: the region of the management cluster's load balancers. From the environment, as for
	// every AWS program.
	Region string

	OIDC OIDC

	// Egress is the environment with the addresses of AWS and the proxy, also for the programs
	// of control planes.
	Egress []corev1.EnvVar

	// LeaveStoppedNodes takes stopped machines of the management cluster out of service, so that control planes start on others.
	LeaveStoppedNodes bool

	// CheckLoadBalancers lets the control-plane-operators check API servers through their load balancers.
	CheckLoadBalancers bool
	// LoadBalancers configures the Services of type LoadBalancer of control planes.
	LoadBalancers loadbalancers.Settings

	// SharedRouter is true if the installation has a shared router in the namespace of the operator, and SharedRouterLimits are what
	// one cluster and one client can use of it.
	SharedRouter       bool
	SharedRouterLimits sharedrouter.Limits
	// SharedRouterSources are the networks from which the load balancers of the shared router connect; empty for all.
	SharedRouterSources []netip.Prefix

	// RegistryOverrides say where release images and their components are pulled.
	RegistryOverrides release.Overrides
	// ReleasePolicy restricts which releases clusters and node pools may have.
	ReleasePolicy release.Policy

	// Sizes are the requests of control planes by their number of nodes.
	Sizes sizes.Sizes
	// Limits of one control plane.
	Limits limits.Limits
	// ManagementAPIEndpoints and BlockedCIDRs are not reachable from pods of control
	// planes, in addition to the addresses that the operator discovers.
	ManagementAPIEndpoints []netip.AddrPort
	BlockedCIDRs           []netip.Prefix

	ResyncPeriod      time.Duration
	PermissionsPeriod time.Duration
	DocumentsPeriod   time.Duration

	// PodIP is the address of this pod; invalid if the operator is not one. Only
	// from a pod can be seen whether NetworkPolicies are enforced.
	PodIP netip.Addr

	Log logs.Options
}

// OIDC names the bucket for OIDC documents; all empty for none.
type OIDC struct{ Bucket, Region, Credentials string }

// Dependencies are an operator's inputs from the process in which it runs.
type Dependencies struct {
	// Manager holds the manager options that belong to the process: the constructor of clients, and whether the names of
	// controllers are unique. New sets all others.
	Manager ctrl.Options
	// Releases resolves release images, with one cache for all controllers.
	Releases release.Resolver
	// AWS is the middleware of all AWS clients.
	AWS []func(*middleware.Stack) error
	// GenerateKey generates the signing key of a hosted cluster.
	GenerateKey func() (private, public []byte, err error)
}

// NewDependencies returns the Dependencies of a program: releases are read from their registries, and calls of AWS are counted.
func NewDependencies(opts Options) (Dependencies, error) {
	calls, err := meter.New(metrics.Registry)
	if err != nil {
		return Dependencies{}, fmt.Errorf("registering the count of AWS calls: %w", err)
	}
	return Dependencies{
		Releases:    release.New(release.Options{Clock: clock.RealClock{}, Overrides: opts.RegistryOverrides, Policy: opts.ReleasePolicy}),
		AWS:         []func(*middleware.Stack) error{calls.Middleware},
		GenerateKey: webidentity.GenerateKey,
	}, nil
}

// session returns an AWS configuration with the middleware of all clients.
func (d Dependencies) session(ctx context.Context, who awsx.Options) (awssdk.Config, error) {
	who.Middleware = d.AWS
	return awsx.NewConfig(ctx, who)
}

// newInstanceTypes returns a cache of EC2 instance types for all controllers; nil
// without access to EC2. Instance types are the same in every account.
func newInstanceTypes(ctx context.Context, opts Options, deps Dependencies) (*instancetypes.Cache, error) {
	if !opts.PrivateAWS {
		return nil, nil
	}
	cfg, err := deps.session(ctx, awsx.Options{Region: opts.Region})
	if err != nil {
		return nil, err
	}
	return instancetypes.New(func(region string) instancetypes.API {
		regional := cfg.Copy()
		regional.Region = region
		return awsx.EC2(regional)
	}, clock.RealClock{}), nil
}
