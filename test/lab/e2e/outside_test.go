//go:build e2e

package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// outside is a server outside of the management cluster, with an authority of its own.
type outside struct {
	*httptest.Server
	// authority is the CA of its certificate, in PEM.
	authority []byte
}

func startOutside(t *testing.T, handler http.HandlerFunc) *outside {
	t.Helper()
	authority, errAuthority := pki.NewAuthority("outside", time.Now())
	if errAuthority != nil {
		t.Fatal(errAuthority)
	}
	leaf, errLeaf := authority.Issue(pki.Request{User: "outside", Usage: pki.Server, Hosts: []string{cluster.Host}}, pki.Terms{Validity: time.Hour}, time.Now())
	listener, errListen := net.Listen("tcp", net.JoinHostPort(cluster.Host, "0"))
	if err := errors.Join(errLeaf, errListen); err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener, server.TLS = listener, &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return &outside{Server: server, authority: pki.Bundle(authority.Certificate)}
}

// webhookKubeconfig leads to the server of a webhook.
func webhookKubeconfig(url string, authority []byte) ([]byte, error) {
	const name = "webhook"
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{name: {Server: url, CertificateAuthorityData: authority}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {}},
		Contexts:  map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}}, CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of a webhook: %w", err)
	}
	return text, nil
}
