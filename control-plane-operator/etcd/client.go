package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// dialTimeout is the timeout of a connection to one of the members.
const dialTimeout = 5 * time.Second

// Connect returns a client of the members at the endpoints. The caller closes it.
func Connect(endpoints []string, identity *tls.Config) (*clientv3.Client, error) {
	// The client returns every error that it would log.
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: identity, DialTimeout: dialTimeout, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("making a client of etcd: %w", err)
	}
	return c, nil
}

// Open returns a client of a control plane's etcd with the client certificate in its Secret. The caller closes it.
func Open(ctx context.Context, secrets client.Reader, hcp *hyperv1.HostedControlPlane) (*clientv3.Client, error) {
	secret := &corev1.Secret{}
	if err := secrets.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: names.EtcdClientCertificate}, secret); err != nil {
		return nil, fmt.Errorf("reading the certificate of a client of etcd: %w", err)
	}
	identity, err := Identity(secret.Data)
	if err != nil {
		return nil, err
	}
	return Connect(Of(hcp).Endpoints(), identity)
}

// IdentityIn reads the client certificate for etcd from the files of a mounted Secret.
func IdentityIn(dir string) (*tls.Config, error) {
	data := map[string][]byte{}
	for _, name := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, pki.TrustKey} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate for etcd: %w", err)
		}
		data[name] = content
	}
	return Identity(data)
}

// Identity returns the client certificate and the trusted authorities for etcd from the data of a Secret.
func Identity(data map[string][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("parsing the client certificate for etcd: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(data[pki.TrustKey]) {
		return nil, errors.New("parsing the trusted authorities of etcd: no certificate in PEM")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: trusted}, nil
}
