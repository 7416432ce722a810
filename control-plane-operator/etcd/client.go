package etcd

import (
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
