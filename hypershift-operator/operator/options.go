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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/limits"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/awsx/meter"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what can be chosen when the operator starts.
type Options struct {
	Namespace   string
	MetricsAddr string
	HealthAddr  string
	LeaderElect bool

	ControlPlaneOperatorImage string
	// ClusterAPIImage and CAPIProviderImage make the machines of node pools.
	ClusterAPIImage, CAPIProviderImage string
	// AllowOperatorImageOverride lets an annotation of a HostedCluster replace it.
	AllowOperatorImageOverride bool

	// PrivateAWS allows private clusters on AWS.
	PrivateAWS bool
	// Region is where endpoint services are made: that of the load balancers of
	// the management cluster. From the environment, as for every AWS program.
	Region string

	OIDC OIDC

	// AWSEndpoints is environment with the addresses of AWS, also for the programs
	// of control planes.
	AWSEndpoints []corev1.EnvVar

	// CheckLoadBalancers has the control-plane-operators check API servers by their load balancers.
	CheckLoadBalancers bool

	// RegistryOverrides say where release images and their components are pulled.
	RegistryOverrides release.Overrides
	// ReleasePolicy restricts which releases clusters and node pools may have.
	ReleasePolicy release.Policy

	// Limits of one control plane.
	Limits limits.Limits
	// ManagementAPIEndpoints and BlockedCIDRs are not reachable from pods of control
	// planes, in addition to what the operator discovers.
	ManagementAPIEndpoints []netip.AddrPort
	BlockedCIDRs           []netip.Prefix

	ResyncPeriod      time.Duration
	PermissionsPeriod time.Duration
	DocumentsPeriod   time.Duration

	// PodIP is the address of this pod; invalid if the operator is not one. Only
	// from a pod can be seen whether NetworkPolicies are enforced.
	PodIP netip.Addr

	// Bed is empty but in a test bed.
	TestHooks TestHooks
}

// OIDC names the bucket for OIDC documents; all empty for none.
type OIDC struct{ Bucket, Region, Credentials string }

// TestHooks replace the outside world in tests.
type TestHooks struct {
	NewClient   client.NewClientFunc
	GenerateKey func() (private, public []byte, err error)
	// Releases takes the place of the registries.
	Releases release.Resolver
	// AWS is added to the middleware of all AWS clients.
	AWS []func(*middleware.Stack) error
	// Shared is true if the process has more than one operator.
	Shared bool
}

// releases returns a resolver with a cache for all controllers.
func (o Options) releases() release.Resolver {
	if o.TestHooks.Releases != nil {
		return o.TestHooks.Releases
	}
	return release.New(release.Options{Clock: clock.RealClock{}, Overrides: o.RegistryOverrides, Policy: o.ReleasePolicy})
}

// instanceTypes returns a cache of EC2 instance types for all controllers; nil
// without access to EC2. Instance types are the same in every account.
func (o Options) instanceTypes(ctx context.Context) (*instancetypes.Cache, error) {
	if !o.PrivateAWS {
		return nil, nil
	}
	cfg, err := o.session(ctx, awsx.Options{Region: o.Region})
	if err != nil {
		return nil, err
	}
	return instancetypes.New(func(region string) instancetypes.API {
		there := cfg.Copy()
		there.Region = region
		return awsx.EC2(there)
	}, clock.RealClock{}), nil
}

// session returns a configuration whose calls are counted.
func (o Options) session(ctx context.Context, who awsx.Options) (awssdk.Config, error) {
	calls, err := meter.New(metrics.Registry)
	if err != nil {
		return awssdk.Config{}, fmt.Errorf("registering the count of AWS calls: %w", err)
	}
	who.Middleware = append([]func(*middleware.Stack) error{calls.Middleware}, o.TestHooks.AWS...)
	return awsx.NewConfig(ctx, who)
}
