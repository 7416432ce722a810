package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// backdate is how far clocks may differ: the issuer's may be ahead of the readers'. Let's Encrypt backdates certificates by as much.
	backdate = time.Hour
	// authorityLife is the validity of an authority. It is rotated long before.
	authorityLife = 10 * 365 * 24 * time.Hour
)

// An Authority is a certificate authority with its private key.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority creates an authority. Its name contains the time, which distinguishes it from the former authority for
// people and for software that looks up an issuer by name.
func NewAuthority(name string, now time.Time) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	cert, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of authority %s: %w", name, err)
	}
	return &Authority{Certificate: cert, key: key}, nil
}

// signed reports whether the authority has signed cert. The name of the issuer is not sufficient: a former authority may have
// had the same.
func (a *Authority) signed(cert *x509.Certificate) bool {
	return string(cert.RawIssuer) == string(a.Certificate.RawSubject) && cert.CheckSignatureFrom(a.Certificate) == nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// DecodeAuthority reads an authority and its private key from the data of a Secret of type kubernetes.io/tls.
func DecodeAuthority(data map[string][]byte) (*Authority, error) {
	return decodeAuthority(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
}
