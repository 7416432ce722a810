package objects

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are the settings that all reconciles share.
type Options struct {
	// Client reads the management cluster.
	Client client.Client
	Clock  clock.PassiveClock
	// Releases resolves the images of the payload.
	Releases release.Resolver
	// OperatorImage is the image that this program runs in.
	OperatorImage string
	// Interval is how often a set is compared with its desired state although the management cluster is unchanged.
	Interval time.Duration
}

// A Builder makes the desired objects in one reconcile of one hosted cluster, and applies them.
type Builder struct {
	Options
	HCP     *hyperv1.HostedControlPlane
	Cluster *connection.Cluster
	// Emptying is true if the cluster is deleted with its cloud resources: then the operator may delete user objects.
	Emptying bool
	// TokenOnDemand returns the bootstrap token of nodes on demand, or nil if no such node is expected.
	TokenOnDemand func(context.Context) (*corev1.Secret, error)

	// target holds the facts that components use. Set by the first set that needs them.
	target *target.HostedCluster
	// additional is set by the first step that needs it.
	additional *additionalPullSecret
}
