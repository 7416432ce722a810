package connection

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A Cluster is a connection to one hosted cluster with one version of the kubeconfig.
type Cluster struct {
	Client  client.WithWatch
	Config  *rest.Config
	Applier *apply.Applier

	// key is a digest of the kubeconfig.
	key [sha256.Size]byte
	// object is the HostedControlPlane. Events of watches trigger its reconcile.
	object client.ObjectKey
	memory map[reflect.Type]any
	// watches run until closed is closed.
	watches map[string]*clusterWatch
	pool    *Pool
	closed  chan struct{}
}

// Options configure a Pool.
type Options struct {
	// Client reads the management cluster.
	Client client.Client
	Scheme *runtime.Scheme
	// Open makes a client of a hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.WithWatch, error)
}

// A Pool holds the connections to hosted clusters. It is not safe for concurrent use: one reconcile runs at a time.
type Pool struct {
	Options
	clusters map[types.UID]*Cluster
	watches  *watchSource
}

// NewPool returns a Pool without connections.
func NewPool(opts Options) *Pool {
	if opts.Open == nil {
		opts.Open = open(opts.Scheme)
	}
	return &Pool{Options: opts, clusters: map[types.UID]*Cluster{}, watches: newWatchSource()}
}

// Watches returns the source of the events of all watches.
func (p *Pool) Watches() source.Source { return p.watches }

// Connect returns the connection to a hosted cluster. It waits, by reconcile.Wait, for the API server and for the kubeconfig.
func (p *Pool) Connect(ctx context.Context, hcp *hyperv1.HostedControlPlane) (*Cluster, error) {
	if !meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable) {
		return nil, reconcile.Wait(0, hyperv1.WaitingForKubeAPIServerReason, "waiting for the hosted API server; see KubeAPIServerAvailable for the reason")
	}
	secret := &corev1.Secret{}
	err := certsecret.Get(ctx, p.Client, client.ObjectKey{Namespace: hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(SecretInterval, hyperv1.WaitingForKubeconfigReason, "Secret %s does not exist", names.ControlPlaneOperatorKubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	text := secret.Data[names.AdminKubeconfigFile]
	if c := p.clusters[hcp.UID]; c != nil && c.key == sha256.Sum256(text) {
		return c, nil
	}
	p.Disconnect(hcp.UID)
	c, err := p.connect(text)
	if err != nil {
		return nil, reconcile.Wait(SecretInterval, hyperv1.WaitingForKubeconfigReason, "Secret %s %s", names.ControlPlaneOperatorKubeconfig, err)
	}
	c.object = client.ObjectKeyFromObject(hcp)
	p.clusters[hcp.UID] = c
	return c, nil
}

// As returns an applier that uses another certificate for the same API server.
func (c *Cluster) As(leaf *pki.Leaf) (*apply.Applier, error) {
	config := rest.AnonymousClientConfig(c.Config)
	config.CertData, config.KeyData = leaf.CertPEM, leaf.KeyPEM
	as, err := c.pool.Open(config)
	if err != nil {
		return nil, err
	}
	return apply.New(as, c.pool.Scheme, names.ControlPlaneOperator), nil
}

// SecretInterval is the interval for reading a Secret or a ConfigMap with certificates, which may not be watched.
const SecretInterval = 10 * time.Second

// Disconnect closes the connection to a hosted cluster, if there is one.
func (p *Pool) Disconnect(uid types.UID) {
	if c := p.clusters[uid]; c != nil {
		close(c.closed)
		delete(p.clusters, uid)
	}
}

// connect creates a connection. Its errors follow the name of the Secret.
func (p *Pool) connect(text []byte) (*Cluster, error) {
	config, err := kubeconfig.Config(text)
	if err != nil {
		return nil, err
	}
	c, err := p.Open(config)
	if err != nil {
		return nil, errors.New("has certificates or keys that cannot be used")
	}
	return &Cluster{
		Client: c, Config: config, Applier: apply.New(c, p.Scheme, names.ControlPlaneOperator),
		key: sha256.Sum256(text), watches: map[string]*clusterWatch{}, pool: p, closed: make(chan struct{}),
	}, nil
}

// open returns a function that creates a client without a cache.
func open(scheme *runtime.Scheme) func(*rest.Config) (client.WithWatch, error) {
	return func(config *rest.Config) (client.WithWatch, error) {
		config = rest.CopyConfig(config)
		config.QPS = -1                           // the server has its own limits
		config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated, and still read by some
		return client.NewWithWatch(config, client.Options{Scheme: scheme})
	}
}
