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
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A clusterConnection is a connection to one hosted cluster with one version of the kubeconfig.
type clusterConnection struct {
	// key is a digest of the kubeconfig.
	key    [sha256.Size]byte
	config *rest.Config
	client client.WithWatch
	apply  *apply.Applier
	// observed has the last observation of each part.
	observed map[string]observedPart
	// otherPodNetwork is when nodes were found to have another pod network than that of the release.
	otherPodNetwork time.Time
	// nodes is the connection to nodes.
	nodes nodeConnection
	// podAuthorities has the API server's authorities for pods.
	podAuthorities []byte
	// recordedRevisions has the last revision of the authorities with an event, by reason.
	recordedRevisions map[string]string
	// watches run until closed is closed.
	watches map[string]*hostedWatch
	closed  chan struct{}
}

// connect opens the connection to the hosted cluster.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	api := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Status != "True" {
		return reconcile.Wait(0, hyperv1.WaitingForKubeAPIServerReason, "waiting for the hosted API server; see KubeAPIServerAvailable for the reason")
	}
	secret := &corev1.Secret{}
	err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(waitForSecret, hyperv1.WaitingForKubeconfigReason, "Secret %s does not exist", names.ControlPlaneOperatorKubeconfig)
	}
	if err != nil {
		return fmt.Errorf("reading Secret %s: %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	text := secret.Data[names.AdminKubeconfigFile]
	if known := r.connections[s.hcp.UID]; known != nil && known.key == sha256.Sum256(text) {
		s.hosted = known
		return nil
	}
	r.disconnect(s.hcp.UID)
	if s.hosted, err = r.newConnection(text); err != nil {
		return reconcile.Wait(waitForSecret, hyperv1.WaitingForKubeconfigReason, "Secret %s %s", names.ControlPlaneOperatorKubeconfig, err)
	}
	r.connections[s.hcp.UID] = s.hosted
	return nil
}

// waitForSecret is the interval for reading a Secret that may not be watched.
const waitForSecret = 10 * time.Second

// disconnect closes the connection to a hosted cluster.
func (r *Reconciler) disconnect(uid types.UID) {
	if known := r.connections[uid]; known != nil {
		close(known.closed)
		delete(r.connections, uid)
	}
}

// newConnection creates a connection. Its errors follow the name of the Secret.
func (r *Reconciler) newConnection(text []byte) (*clusterConnection, error) {
	config, err := kubeconfig.Config(text)
	if err != nil {
		return nil, err
	}
	c, err := r.Open(config)
	if err != nil {
		return nil, fmt.Errorf("has certificates or keys that cannot be used")
	}
	return &clusterConnection{
		key: sha256.Sum256(text), config: config, client: c, apply: apply.New(c, r.Scheme, names.ControlPlaneOperator),
		observed: map[string]observedPart{}, recordedRevisions: map[string]string{}, watches: map[string]*hostedWatch{}, closed: make(chan struct{}),
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
