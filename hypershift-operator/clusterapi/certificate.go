package clusterapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// webhookCertificate returns the Secret with the certificate that Cluster API and
// its provider need to start. No API server calls their webhooks, so that one
// certificate is sufficient for the life of the cluster.
func (m Manager) webhookCertificate(ctx context.Context, plane controlplane.Namespace) (client.Object, error) {
	there, key := &corev1.Secret{}, plane.Key(names.ClusterAPIWebhooks)
	err := m.Client.Get(ctx, key, there)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Secret %s: %w", key.Name, err)
	}
	data := map[string][]byte{corev1.TLSCertKey: there.Data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: there.Data[corev1.TLSPrivateKeyKey]}
	if apierrors.IsNotFound(err) || len(data[corev1.TLSCertKey]) == 0 || len(data[corev1.TLSPrivateKeyKey]) == 0 {
		if data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey], err = m.GenerateCertificate(); err != nil {
			return nil, fmt.Errorf("making a certificate for webhooks: %w", err)
		}
	}
	return plane.Secret(key.Name, corev1.SecretTypeTLS, data), nil
}

// GenerateCertificate returns a certificate that no client verifies, and its key,
// PEM both.
func GenerateCertificate() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "webhooks that are not called"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no end
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}
