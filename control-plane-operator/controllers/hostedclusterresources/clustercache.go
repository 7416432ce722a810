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

// A door leads into one hosted cluster, with the kubeconfig of one moment.
type door struct {
	// key is a digest of the kubeconfig.
	key    [sha256.Size]byte
	config *rest.Config
	client client.WithWatch
	apply  *apply.Applier
	// found is what was there when somebody last looked.
	found map[string]found
	// reached is when a node answered last.
	reached time.Time
	// believed is who vouches for the API server to pods.
	believed []byte
	// told is the revision of authorities of which an event has told, by its reason.
	told map[string]string
	// watches are open until closed is.
	watches map[string]*watching
	closed  chan struct{}
}

// enter finds the way into the hosted cluster.
func (r *Reconciler) enter(ctx context.Context, s *scope) error {
	api := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Status != "True" {
		return reconcile.Wait(0, hyperv1.WaitingForKubeAPIServerReason, "waiting until the hosted API server serves; KubeAPIServerAvailable says why it does not")
	}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(waitForSecret, hyperv1.WaitingForKubeconfigReason, "Secret %s is not there", names.ControlPlaneOperatorKubeconfig)
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

// waitForSecret is how long to wait for a Secret of which a watch may not tell.
const waitForSecret = 10 * time.Second

// leave forgets the way into a hosted cluster.
func (r *Reconciler) leave(uid types.UID) {
	if known := r.doors[uid]; known != nil {
		close(known.closed)
		delete(r.doors, uid)
	}
}

// build makes a door. Its errors follow the name of the Secret.
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

// open makes a client that asks the API server each time: what we look at once
// in ten minutes is not worth the memory of a cache.
func open(scheme *runtime.Scheme) func(*rest.Config) (client.WithWatch, error) {
	return func(config *rest.Config) (client.WithWatch, error) {
		config = rest.CopyConfig(config)
		config.QPS = -1                           // the server has its own limits
		config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated, and still read by some
		return client.NewWithWatch(config, client.Options{Scheme: scheme})
	}
}
