// Package webidentity issues tokens with which AWS authenticates a service account of a hosted cluster. It does not call the
// hosted cluster: it signs with the key of its API server, and AWS verifies the signature with the public key in the
// documents of the issuer. AWS identity therefore does not depend on a running API server, neither during creation nor during
// deletion of a cluster.
//
// The documents are those of OpenID Connect Discovery 1.0 and RFC 7517, in the subset that AWS reads:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_create_oidc.html
package webidentity

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/utils/clock"
)

// Paths of the documents, relative to the issuer.
const (
	DiscoveryPath = ".well-known/openid-configuration"
	JWKSPath      = "openid/v1/jwks"
)

// keyBits is the size of the keys. AWS accepts RS256, for which this is sufficient.
const keyBits = 2048

// clockSkew is the tolerated difference between the clocks of AWS and this process for "issued at" and "not before".
const clockSkew = time.Minute

// A Signer signs tokens with one service-account key.
type Signer struct {
	key    *rsa.PrivateKey
	issuer string
	signer jose.Signer
	clock  clock.PassiveClock
}

// NewSigner returns a Signer for a PEM-encoded RSA private key, PKCS#1 or PKCS#8.
func NewSigner(privateKey []byte, issuer string, clk clock.PassiveClock) (*Signer, error) {
	key, err := parsePrivateKey(privateKey)
	if err != nil {
		return nil, err
	}
	id, err := keyID(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("preparing the service account key: %w", err)
	}
	return &Signer{key: key, issuer: issuer, signer: signer, clock: clk}, nil
}

// Token returns a signed token for the subject, in the form
// "system:serviceaccount:<namespace>:<name>", that lives for ttl.
func (s *Signer) Token(subject, audience string, ttl time.Duration) (string, error) {
	now := s.clock.Now()
	token, err := jwt.Signed(s.signer).Claims(jwt.Claims{
		Issuer:    s.issuer,
		Subject:   subject,
		Audience:  jwt.Audience{audience},
		IssuedAt:  jwt.NewNumericDate(now.Add(-clockSkew)),
		NotBefore: jwt.NewNumericDate(now.Add(-clockSkew)),
		Expiry:    jwt.NewNumericDate(now.Add(ttl)),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("signing a token for %s: %w", subject, err)
	}
	return token, nil
}

// PublicPEM returns the public half of the key, PKIX in PEM.
func (s *Signer) PublicPEM() ([]byte, error) { return publicPEM(&s.key.PublicKey) }

// GenerateKey returns a new key pair: the private key as PKCS#1, the public
// key as PKIX, PEM both.
func GenerateKey() (privatePEM, public []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a service account key: %w", err)
	}
	public, err = publicPEM(&key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), public, nil
}

// PublicFromPrivate returns the public half of a private key, PEM both.
func PublicFromPrivate(privateKey []byte) ([]byte, error) {
	key, err := parsePrivateKey(privateKey)
	if err != nil {
		return nil, err
	}
	return publicPEM(&key.PublicKey)
}

// Discovery returns the issuer's discovery document.
func Discovery(issuer string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"issuer":                                issuer,
		"jwks_uri":                              issuer + "/" + JWKSPath,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{string(jose.RS256)},
	})
}

// JWKS returns the key set of the issuer for every public key in the PEM text, in the same order. A rotated key stays in the
// set while its public key is in the text.
func JWKS(publicKeys []byte) ([]byte, error) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for rest := publicKeys; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		key, err := parsePublicKey(block)
		if err != nil {
			return nil, err
		}
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.RS256), Use: "sig"})
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("no PEM-encoded public key found")
	}
	return json.Marshal(set)
}

func parsePrivateKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the service account key is not PEM-encoded")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the service account key is neither PKCS#1 nor PKCS#8")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the service account key is %T, AWS takes RSA", parsed)
	}
	return key, nil
}

// parsePublicKey reads PKIX bytes under either of the two PEM types in use for them, and PKCS#1.
func parsePublicKey(block *pem.Block) (*rsa.PublicKey, error) {
	if parsed, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
		if key, ok := parsed.(*rsa.PublicKey); ok {
			return key, nil
		}
		return nil, fmt.Errorf("the public key is %T, AWS takes RSA", parsed)
	}
	key, err := x509.ParsePKCS1PublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the public key is neither PKIX nor PKCS#1")
	}
	return key, nil
}

func publicPEM(key *rsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// keyID returns the key ID that kube-apiserver writes into its tokens, so that both refer to the same key in the published
// set.
func keyID(key *rsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encoding the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
