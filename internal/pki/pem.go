package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// ParseBundle reads one or more certificates in PEM.
func ParseBundle(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certificateBlock {
			return nil, fmt.Errorf("it has a PEM block of type %s beside the certificates", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("it has no certificate in PEM")
	}
	return certs, nil
}

// Bundle encodes certificates in PEM, without duplicates.
func Bundle(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, cert := range certs {
		if text := pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: cert.Raw}); !bytes.Contains(out, text) {
			out = append(out, text...)
		}
	}
	return out
}

// newKey creates a private key on P-256: small, fast, and supported everywhere.
func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a private key: %w", err)
	}
	return key, nil
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

// errUnreadableKey replaces the errors of parsers of private keys, because some of them quote the key.
var errUnreadableKey = errors.New("it is not a private key in PEM")

// parseKey reads a private key in our format or in a common other one.
func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errUnreadableKey
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		switch key := parsed.(type) {
		case *ecdsa.PrivateKey:
			return key, nil
		case *rsa.PrivateKey:
			return key, nil
		}
		return nil, errUnreadableKey
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errUnreadableKey
}

// belongs reports whether key is the private key of the certificate.
func belongs(key crypto.Signer, cert *x509.Certificate) bool {
	public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}
