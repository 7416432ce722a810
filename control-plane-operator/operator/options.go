package operator

import (
	"time"

	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are what can be chosen when the operator starts.
type Options struct {
	// Namespace of the control plane. Nothing outside of it is read or written.
	Namespace   string
	MetricsAddr string
	HealthAddr  string
	LeaderElect bool

	// ResyncPeriod is how often AWS is looked at although nothing has changed.
	ResyncPeriod time.Duration
	// IdentityInterval is how old an answer of AWS may be and still tell whether it knows us.
	IdentityInterval time.Duration
	// APIStartInterval is how often to ask a hosted API server that is not
	// ready, and APIInterval how often one that is.
	APIStartInterval, APIInterval time.Duration
	// CheckLoadBalancers enables checks at its published address.
	CheckLoadBalancers bool

	// MetricsClientCA is the authority, PEM, of the clients that may read the metrics.
	MetricsClientCA []byte

	// Image is the one that this program runs in: parts of the control plane run in it too.
	Image string
	// RegistryOverrides say where release images and their components are pulled.
	RegistryOverrides release.Overrides
	// AWSEndpoints is the environment with the endpoints of AWS, for the parts of the control plane that call it.
	AWSEndpoints []corev1.EnvVar

	// TestHooks is empty outside of tests.
	TestHooks TestHooks
}

// TestHooks replace the outside world in tests.
type TestHooks struct {
	NewClient client.NewClientFunc
	// AWS goes under all clients of AWS.
	AWS []func(*middleware.Stack) error
	// Releases knows the payloads in the place of registries.
	Releases release.Resolver
	// Shared is true if the process has more than one operator.
	Shared bool
}
