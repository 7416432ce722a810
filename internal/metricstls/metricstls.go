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

// ClientCA is the environment variable by which a control-plane-operator knows the
// authority, PEM, whose client certificates may read its metrics.
const ClientCA = "METRICS_CLIENT_CA"

// SelfSigned serves with a certificate of its own, which is made when the first
// client connects: the start of an operator does not wait for it. It encrypts;
// collectors do not verify it.
func SelfSigned(cfg *tls.Config) {
	cfg.MinVersion = tls.VersionTLS12
	// HTTP/1.1 is enough for a collector, and has less that can be abused.
	cfg.NextProtos = []string{"http/1.1"}
	certificate := sync.OnceValues(selfSigned)
	cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() }
}

// SignedBy lets in only clients with a certificate of the authority; nobody if there
// is none.
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
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no end
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
