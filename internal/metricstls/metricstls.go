// Package metricstls serves the metrics of an operator over TLS.
package metricstls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"
)

// ClientCA is the environment variable of a control-plane-operator with the certificate authority, in PEM, of the clients
// that may read its metrics.
const ClientCA = "METRICS_CLIENT_CA"

// SelfSigned returns a TLS configuration with a self-signed certificate, which is created for the first connection, so that
// the start of an operator does not wait for it. It encrypts only; collectors do not verify it.
func SelfSigned(cfg *tls.Config) {
	cfg.MinVersion = tls.VersionTLS12
	// HTTP/1.1 is sufficient for a collector, and its attack surface is smaller.
	cfg.NextProtos = []string{"http/1.1"}
	certificate := sync.OnceValues(selfSigned)
	cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() }
}

// SignedBy returns a TLS configuration that accepts only clients with a certificate of the authority, or no clients without
// an authority.
func SignedBy(authority []byte) func(*tls.Config) {
	return func(cfg *tls.Config) {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
		cfg.ClientCAs = x509.NewCertPool()
		cfg.ClientCAs.AppendCertsFromPEM(authority)
	}
}

func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "metrics"},
		DNSNames:     []string{"localhost"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no expiry
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
