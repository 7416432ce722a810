package certificaterevocation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/apiservers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// requestTimeout is the timeout of one connection to a pod.
	requestTimeout = 5 * time.Second
	// maxBody is the limit of a response.
	maxBody = 64 << 10
	// checkUser is the user of the certificates of checks, which are valid for checkLife. The user has no permission.
	checkUser = names.BreakGlassUserPrefix + "revocation-check"
	checkLife = 10 * time.Minute
)

// A Server is the API server in one pod, and the authorities that sign for it.
type Server struct {
	apiservers.Server
	Trust *x509.CertPool
}

// verify connects to every API server with a certificate of an authority, and waits until all accept or refuse it.
func (r *Reconciler) verify(ctx context.Context, s *scope, by *pki.Authority, want bool, otherwise string) error {
	if s.servers == nil {
		if err := r.listServers(ctx, s); err != nil {
			return err
		}
	}
	leaf, err := by.Issue(pki.Request{User: checkUser, Usage: pki.Client}, pki.Terms{Validity: checkLife}, r.Clock.Now())
	if err != nil {
		return err
	}
	for _, server := range s.servers {
		accepted, err := r.Accepts(ctx, server, leaf)
		if err != nil {
			return reconcile.Unknown(interval, hyperv1.WaitingForAvailableReason, "pod %s could not be checked: %v", server.Pod, err)
		}
		if accepted != want {
			return reconcile.Wait(interval, hyperv1.WaitingForAvailableReason, "pod %s %s", server.Pod, otherwise)
		}
	}
	return nil
}

// listServers lists the API servers.
func (r *Reconciler) listServers(ctx context.Context, s *scope) error {
	servers, err := apiservers.List(ctx, r.Reader, s.crr.Namespace, interval)
	if err != nil {
		return err
	}
	root := &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.crr.Namespace, Name: names.RootCA}, root); err != nil {
		return fmt.Errorf("getting ConfigMap %s: %w", names.RootCA, err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM([]byte(root.Data[pki.TrustKey]))
	for _, server := range servers {
		s.servers = append(s.servers, Server{Server: server, Trust: trust})
	}
	return nil
}

// accepts asks an API server who the client is. The server's list of authorities must not keep the client from sending its certificate:
// without one, a server that permits anonymous requests would answer them.
func accepts(ctx context.Context, server Server, leaf *pki.Leaf) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	certificate := leaf.TLS()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Address)
		},
		TLSClientConfig: &tls.Config{
			RootCAs: server.Trust, ServerName: server.Name, MinVersion: tls.VersionTLS12,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
		},
		DisableKeepAlives: true,
	}
	review := &authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview"}}
	body, err := json.Marshal(review)
	if err != nil {
		return false, fmt.Errorf("encoding a review: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+server.Name+"/apis/"+authenticationv1.SchemeGroupVersion.String()+"/selfsubjectreviews", strings.NewReader(string(body)))
	if err != nil {
		return false, fmt.Errorf("reviewing a certificate: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return false, fmt.Errorf("connecting to %s: %w", server.Address, errors.Unwrap(err))
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return false, fmt.Errorf("reading the response of %s: %w", server.Address, err)
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return false, nil
	case http.StatusCreated:
		if json.Unmarshal(text, review) == nil && review.Status.UserInfo.Username == leaf.Certificate.Subject.CommonName {
			return true, nil
		}
	case http.StatusForbidden: // an administrator has removed the permission of all users to ask
		status := &metav1.Status{}
		if json.Unmarshal(text, status) == nil && strings.Contains(status.Message, strconv.Quote(leaf.Certificate.Subject.CommonName)) {
			return true, nil
		}
	}
	return false, fmt.Errorf("%s answers %s", server.Address, response.Status)
}
