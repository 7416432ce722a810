package signingkeys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/apiservers"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubecontrollermanager"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

const (
	// requestTimeout is the timeout of one request to a pod.
	requestTimeout = 5 * time.Second
	// maxBody is the limit of a response.
	maxBody = 1 << 20
	// checkNamespace and checkAccount are a service account that every cluster has. No program uses it, and checkAudience exists nowhere.
	checkNamespace, checkAccount = "kube-system", "default"
	checkAudience                = "hypershift-signing-key-check"
	// checkSeconds is the shortest validity that an API server permits.
	checkSeconds = 600
)

// Loaded are the IDs of the keys that an API server accepts, and of the key that it signs with.
type Loaded struct {
	Accepts []string
	Signs   string
}

// verifyServers waits until all pods use the keys of the Secret, and nothing else.
func (r *Reconciler) verifyServers(ctx context.Context, s *scope) error {
	if s.keys == nil || s.status.LoadedRevision != "" {
		return nil
	}
	if err := r.verifyControllerManagers(ctx, s); err != nil {
		return err
	}
	config, err := r.config(ctx, s)
	if err != nil {
		return err
	}
	servers, err := apiservers.List(ctx, r.Reader, s.hcp.Namespace, interval)
	if err != nil {
		return err
	}
	accepted, err := webidentity.KeyIDs(s.keys.PublicKeys())
	if err != nil {
		return err
	}
	slices.Sort(accepted)
	for _, server := range servers {
		loaded, err := r.Connect(ctx, config, server)
		if err != nil {
			return reconcile.Unknown(interval, hyperv1.WaitingForAvailableReason, "pod %s could not be checked: %v", server.Pod, err)
		}
		slices.Sort(loaded.Accepts)
		if !slices.Equal(loaded.Accepts, accepted) || loaded.Signs != s.keys.Signing.ID {
			return reconcile.Wait(interval, hyperv1.WaitingForAvailableReason, "pod %s has not started with the current keys yet", server.Pod)
		}
	}
	s.status.LoadedRevision = s.keys.Revision()
	return nil
}

// verifyControllerManagers waits for kube-controller-manager, which signs tokens for Secrets and has no way to show its key: the pods have
// started with it. One that has read an older file would leave a Secret with a token of an old key, which searchTokens finds.
func (r *Reconciler) verifyControllerManagers(ctx context.Context, s *scope) error {
	pods, err := apiservers.Pods(ctx, r.Reader, s.hcp.Namespace, names.KubeControllerManager)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Annotations[kubecontrollermanager.SigningKeyAnnotation] != s.keys.Signing.ID {
			return reconcile.Wait(interval, hyperv1.WaitingForAvailableReason, "pod %s has not started with the current key yet", pod.Name)
		}
	}
	return nil
}

// config is the configuration of a client of the hosted cluster.
func (r *Reconciler) config(ctx context.Context, s *scope) (*rest.Config, error) {
	secret := &corev1.Secret{}
	if err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	config, err := kubeconfig.Config(secret.Data[names.AdminKubeconfigFile])
	if err != nil {
		return nil, fmt.Errorf("Secret %s %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	config.Timeout = deadline
	return config, nil
}

// connect asks an API server for its keys.
func connect(ctx context.Context, config *rest.Config, server apiservers.Server) (Loaded, error) {
	config = rest.CopyConfig(config)
	config.Host, config.TLSClientConfig.ServerName, config.Timeout = "https://"+server.Address, server.Name, requestTimeout
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return Loaded{}, errors.New("the certificates or keys in Secret " + names.ControlPlaneOperatorKubeconfig + " cannot be used")
	}
	defer transport.CloseIdleConnections()
	loaded := Loaded{}
	set := struct {
		Keys []struct {
			KeyID string `json:"kid"`
		} `json:"keys"`
	}{}
	if err := send(ctx, transport, http.MethodGet, config.Host+"/"+webidentity.JWKSPath, nil, &set); err != nil {
		return loaded, err
	}
	for _, key := range set.Keys {
		loaded.Accepts = append(loaded.Accepts, key.KeyID)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{checkAudience}, ExpirationSeconds: ptr.To[int64](checkSeconds)}}
	request.APIVersion, request.Kind = authenticationv1.SchemeGroupVersion.String(), "TokenRequest"
	if err := send(ctx, transport, http.MethodPost, config.Host+"/api/v1/namespaces/"+checkNamespace+"/serviceaccounts/"+checkAccount+"/token", request, request); err != nil {
		return loaded, err
	}
	loaded.Signs = webidentity.KeyIDOf([]byte(request.Status.Token))
	return loaded, nil
}

// maxReason is the limit of the part of a message that quotes an API server. A webhook of the user may have written it.
const maxReason = 300

// reasonIn returns the reason for which an API server refuses a request: a missing permission, or a webhook.
func reasonIn(text []byte) string {
	status := &metav1.Status{}
	if json.Unmarshal(text, status) != nil || status.Message == "" {
		return ""
	}
	return ": " + bounded(oneline.Of(status.Message), maxReason)
}

// send sends a request and decodes the response.
func send(ctx context.Context, c *http.Client, method, url string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = strings.NewReader(string(text))
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return errors.Unwrap(err) // without the URL
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	switch {
	case err != nil:
		return fmt.Errorf("reading the response: %w", err)
	case response.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("it answers %s%s", response.Status, reasonIn(text))
	}
	if err := json.Unmarshal(text, out); err != nil {
		return errors.New("its answer cannot be read") // which may have a token
	}
	return nil
}
