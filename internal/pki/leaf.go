package pki

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TrustKey is the key of a Secret or ConfigMap with the bundle of trusted certificates. The keys of the certificate and of
// the private key are corev1.TLSCertKey and corev1.TLSPrivateKeyKey.
const TrustKey = "ca.crt"

// A Leaf is a certificate and its private key.
type Leaf struct {
	Certificate *x509.Certificate
	// CertPEM and KeyPEM are both in PEM.
	CertPEM, KeyPEM []byte

	key crypto.Signer
}

// Issue signs a certificate, which does not outlive the authority.
func (a *Authority) Issue(want Request, terms Terms, now time.Time) (*Leaf, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	cert, err := a.Certify(key.Public(), want, terms, now)
	if err != nil {
		return nil, err
	}
	leaf := &Leaf{Certificate: cert, CertPEM: Bundle(cert), key: key}
	if leaf.KeyPEM, err = encodeKey(key); err != nil {
		return nil, err
	}
	// A certificate that Evaluate refuses would be issued again in every reconcile.
	if reason := leaf.fault(want, a, terms, now); reason != "" {
		return nil, fmt.Errorf("a certificate for %s cannot be made: %s", want.User, reason)
	}
	return leaf, nil
}

// Certify signs a certificate for the key of another program. It does not outlive the authority.
func (a *Authority) Certify(public crypto.PublicKey, want Request, terms Terms, now time.Time) (*x509.Certificate, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: want.User, Organization: want.Groups},
		NotBefore:             now.Add(-backdate),
		NotAfter:              earlier(now.Add(terms.Validity), a.Certificate.NotAfter),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           want.Usage.extended(),
		BasicConstraintsValid: true,
		DNSNames:              want.names(),
	}
	for _, address := range want.addresses() {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	cert, err := sign(template, a.Certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate for %s: %w", want.User, err)
	}
	return cert, nil
}

// TLS returns the leaf for a connection.
func (l *Leaf) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{l.Certificate.Raw}, PrivateKey: l.key, Leaf: l.Certificate}
}

// Due returns when the leaf has to be renewed.
func (l *Leaf) Due(terms Terms) time.Time { return terms.due(l.Certificate) }

// Data returns the data of a Secret of type kubernetes.io/tls.
func (l *Leaf) Data(trust []byte) map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: l.CertPEM, corev1.TLSPrivateKeyKey: l.KeyPEM, TrustKey: trust}
}

// parseLeaf reads a certificate and its private key, which must match.
func parseLeaf(certPEM, keyPEM []byte) (*Leaf, error) {
	certs, err := ParseBundle(certPEM)
	if err != nil {
		return nil, fmt.Errorf("its certificate cannot be read: %w", err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("its key cannot be read: %w", err)
	}
	if !belongs(key, certs[0]) {
		return nil, errors.New("its key is not that of its certificate")
	}
	return &Leaf{Certificate: certs[0], CertPEM: certPEM, KeyPEM: keyPEM, key: key}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
