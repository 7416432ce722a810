package operator

import (
	"time"

	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/logs"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are the operator's settings at its start.
type Options struct {
	// Namespace of the control plane. Objects outside of it are neither read nor written.
	Namespace   string
	MetricsAddr string
	HealthAddr  string
	LeaderElect bool
	// Profiling serves profiles on loopback.
	Profiling bool

	// ResyncPeriod is how often AWS is compared with the desired state without a change in the cluster.
	ResyncPeriod time.Duration
	// IdentityInterval is how old an answer of AWS may be and still tell whether it knows us.
	IdentityInterval time.Duration
	// APIStartInterval is the interval between checks of a hosted API server that is not ready, and APIInterval between checks of a ready
	// API server.
	APIStartInterval, APIInterval time.Duration
	// CheckLoadBalancers enables checks at its published address.
	CheckLoadBalancers bool
	// LoadBalancers configures the Services of type LoadBalancer.
	LoadBalancers loadbalancers.Settings

	// MetricsClientCA is the authority, PEM, of the clients that may read the metrics.
	MetricsClientCA []byte

	// Image is this program's image. Parts of the control plane run in it too.
	Image string
	// RegistryOverrides say where release images and their components are pulled.
	RegistryOverrides release.Overrides
	// Egress is the environment with the endpoints of AWS and the proxy, for the parts of the control plane that call AWS.
	Egress []corev1.EnvVar

	Log logs.Options
}

// Dependencies are an operator's inputs from the process in which it runs.
type Dependencies struct {
	// Manager holds the manager options that belong to the process: the constructor of clients, and whether the names of
	// controllers are unique. New sets all others.
	Manager ctrl.Options
	// Releases resolves release images.
	Releases release.Resolver
	// AWS is the middleware of all AWS clients.
	AWS []func(*middleware.Stack) error
}

// NewDependencies returns the Dependencies of a program: releases are read from their registries.
func NewDependencies(opts Options) Dependencies {
	return Dependencies{Releases: release.New(release.Options{Clock: clock.RealClock{}, Overrides: opts.RegistryOverrides})}
}
