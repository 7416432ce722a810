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

// dialTimeout is how long to try to reach one of the members.
const dialTimeout = 5 * time.Second

// Connect returns a client of the members at the endpoints. It is to be closed.
func Connect(endpoints []string, identity *tls.Config) (*clientv3.Client, error) {
	// What it would write down it also returns.
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: identity, DialTimeout: dialTimeout, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("making a client of etcd: %w", err)
	}
	return c, nil
}

// Open returns a client of the etcd of a control plane, with the certificate that
// is in its Secret. It is to be closed.
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

// IdentityIn reads who we are to etcd from the files of a mounted Secret.
func IdentityIn(dir string) (*tls.Config, error) {
	data := map[string][]byte{}
	for _, name := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, pki.TrustKey} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("reading who we are to etcd: %w", err)
		}
		data[name] = content
	}
	return Identity(data)
}

// Identity is who we are to etcd, from what is in a Secret.
func Identity(data map[string][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("reading who we are to etcd: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(data[pki.TrustKey]) {
		return nil, errors.New("reading whom to trust of etcd: there is no certificate in PEM")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: trusted}, nil
}
