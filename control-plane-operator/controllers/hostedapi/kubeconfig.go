package hostedapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	reader "github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// keep is the cache lifetime of a kubeconfig. A kubeconfig that fails is read again at once, so the lifetime matters
// only for a revoked kubeconfig.
const keep = 5 * time.Minute

// access caches the kubeconfigs of API servers.
type access struct {
	secrets client.Reader
	clock   clock.PassiveClock
	known   map[client.ObjectKey]*kubeconfig
}

func newAccess(secrets client.Reader, clk clock.PassiveClock) *access {
	return &access{secrets: secrets, clock: clk, known: map[client.ObjectKey]*kubeconfig{}}
}

// kubeconfig holds the contents of a control plane's kubeconfig Secrets.
type kubeconfig struct {
	uid  types.UID // of the control plane
	read time.Time
	// admin and custom record whether the administrator's kubeconfigs exist: one with the default name, and one with the
	// user's name of the API server.
	admin, custom bool
	// problem is the reason for which the kubeconfig cannot be used, or nil.
	problem *problem
	secret  string
	server  *url.URL
	client  *http.Client
	// trust are the authorities that sign for the API server.
	trust []byte
	// config is the configuration of client.
	config *rest.Config
}

// to returns the kubeconfig of hcp's API server.
func (a *access) to(ctx context.Context, hcp *hyperv1.HostedControlPlane) (*kubeconfig, error) {
	key := client.ObjectKeyFromObject(hcp)
	cached := a.known[key]
	if cached != nil && cached.uid == hcp.UID && cached.complete(hcp) && a.clock.Since(cached.read) < keep {
		return cached, nil
	}
	k := &kubeconfig{uid: hcp.UID, read: a.clock.Now(), secret: names.ClusterKubeconfig(hcp.Spec.InfraID)}
	text, err := a.get(ctx, hcp.Namespace, k.secret, names.ClusterKubeconfigFile)
	if err != nil {
		return nil, err
	}
	admin, err := a.get(ctx, hcp.Namespace, names.AdminKubeconfig, names.AdminKubeconfigFile)
	if err != nil {
		return nil, err
	}
	k.admin = admin != nil
	if hcp.Spec.KubeAPIServerDNSName != "" {
		custom, err := a.get(ctx, hcp.Namespace, names.CustomAdminKubeconfig, names.AdminKubeconfigFile)
		if err != nil {
			return nil, err
		}
		k.custom = custom != nil
	}
	k.open(text)
	a.known[key] = k
	return k, nil
}

// complete returns whether all kubeconfigs exist. The users' kubeconfigs appear later, with the API server's public
// name.
func (k *kubeconfig) complete(hcp *hyperv1.HostedControlPlane) bool {
	return k.problem == nil && k.admin && (k.custom || hcp.Spec.KubeAPIServerDNSName == "")
}

// forget makes the next pass read the kubeconfig again.
func (a *access) forget(hcp client.ObjectKey) { delete(a.known, hcp) }

// get returns the value of the key, or nil if it is missing.
func (a *access) get(ctx context.Context, namespace, name, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := a.secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret.Data[key], nil
}

// open creates a client from the kubeconfig. Its errors do not contain the parsers' messages, which may quote Secret
// data.
func (k *kubeconfig) open(text []byte) {
	if len(text) == 0 {
		k.problem = &problem{reason: hyperv1.NotDeployedReason}
		return
	}
	cfg, err := reader.Config(text)
	if err != nil {
		k.refuse(err.Error())
		return
	}
	cfg.Timeout = requestTimeout
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		k.refuse("has no valid server address")
		return
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		k.refuse("has certificates or keys that cannot be used")
		return
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	k.server, k.client, k.trust, k.config = server, c, cfg.CAData, cfg
}

func (k *kubeconfig) refuse(reason string) {
	k.problem = &problem{hyperv1.KubeconfigInvalidReason, fmt.Sprintf("%s in Secret %s %s", names.ClusterKubeconfigFile, k.secret, reason)}
}
