package hostedclusterresources

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A door is a connection to one hosted cluster with one version of the kubeconfig.
type door struct {
	// key is a digest of the kubeconfig.
	key    [sha256.Size]byte
	config *rest.Config
	client client.WithWatch
	apply  *apply.Applier
	// found has the last observation of each part.
	found map[string]found
	// reached is the last time at which a node responded.
	reached time.Time
	// believed has the API server's authorities for pods.
	believed []byte
	// told has the last revision of the authorities with an event, by reason.
	told map[string]string
	// watches run until closed is closed.
	watches map[string]*watching
	closed  chan struct{}
}

// enter connects to the hosted cluster.
func (r *Reconciler) enter(ctx context.Context, s *scope) error {
	api := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Status != "True" {
		return reconcile.Wait(0, hyperv1.WaitingForKubeAPIServerReason, "waiting for the hosted API server; see KubeAPIServerAvailable for the reason")
	}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(waitForSecret, hyperv1.WaitingForKubeconfigReason, "Secret %s does not exist", names.ControlPlaneOperatorKubeconfig)
	}
	if err != nil {
		return fmt.Errorf("reading Secret %s: %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	text := secret.Data[names.AdminKubeconfigFile]
	if known := r.doors[s.hcp.UID]; known != nil && known.key == sha256.Sum256(text) {
		s.hosted = known
		return nil
	}
	r.leave(s.hcp.UID)
	if s.hosted, err = r.build(text); err != nil {
		return reconcile.Wait(waitForSecret, hyperv1.WaitingForKubeconfigReason, "Secret %s %s", names.ControlPlaneOperatorKubeconfig, err)
	}
	r.doors[s.hcp.UID] = s.hosted
	return nil
}

// waitForSecret is the interval for reading a Secret that may not be watched.
const waitForSecret = 10 * time.Second

// leave closes the connection to a hosted cluster.
func (r *Reconciler) leave(uid types.UID) {
	if known := r.doors[uid]; known != nil {
		close(known.closed)
		delete(r.doors, uid)
	}
}

// build creates the connection. Its errors follow the name of the Secret.
func (r *Reconciler) build(text []byte) (*door, error) {
	config, err := kubeconfig.Config(text)
	if err != nil {
		return nil, err
	}
	c, err := r.Open(config)
	if err != nil {
		return nil, fmt.Errorf("has certificates or keys that cannot be used")
	}
	return &door{
		key: sha256.Sum256(text), config: config, client: c, apply: apply.New(c, r.Scheme, names.ControlPlaneOperator),
		found: map[string]found{}, told: map[string]string{}, watches: map[string]*watching{}, closed: make(chan struct{}),
	}, nil
}

// open creates a client without a cache. Objects that are read once in ten minutes are not worth the memory of a cache.
func open(scheme *runtime.Scheme) func(*rest.Config) (client.WithWatch, error) {
	return func(config *rest.Config) (client.WithWatch, error) {
		config = rest.CopyConfig(config)
		config.QPS = -1                           // the server has its own limits
		config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated, and still read by some
		return client.NewWithWatch(config, client.Options{Scheme: scheme})
	}
}
