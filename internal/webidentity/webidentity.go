// Package webidentity issues tokens with which AWS authenticates a service account of a hosted cluster. It does not call the
// hosted cluster: it signs with the key of its API server, and AWS verifies the signature with the public key in the
// documents of the issuer. AWS identity therefore does not depend on a running API server, neither during creation nor during
// deletion of a cluster.
//
// The documents follow OpenID Connect Discovery 1.0 and RFC 7517, in the subset that AWS reads:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_create_oidc.html
package webidentity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
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

// keyBits is the size of RSA keys, which is sufficient for RS256.
const keyBits = 2048

// clockSkew is how far the clock of this process may be ahead of that of AWS, which refuses a token that was issued in the future.
const clockSkew = 15 * time.Minute

// A Signer signs tokens with one service-account key.
type Signer struct {
	key    crypto.Signer
	issuer string
	signer jose.Signer
	clock  clock.PassiveClock
}

// NewSigner returns a Signer for a PEM-encoded private key, P-256 or RSA.
func NewSigner(privateKey []byte, issuer string, clk clock.PassiveClock) (*Signer, error) {
	key, err := parsePrivateKey(privateKey)
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: algorithmOf(key.Public()), Key: jose.JSONWebKey{Key: key, KeyID: id}},
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
func (s *Signer) PublicPEM() ([]byte, error) { return publicPEM(s.key.Public()) }

// GenerateKey returns a new key pair on P-256: the private key as PKCS#8, the public key as PKIX, PEM both. An RSA key takes a
// thousand times as long, which is noticeable where hundreds of clusters are created.
func GenerateKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a service account key: %w", err)
	}
	return encode(key)
}

// GenerateRSAKey returns a new RSA key pair in the same formats, for tokens that are also read by programs that accept RS256
// only.
func GenerateRSAKey() (private, public []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a service account key: %w", err)
	}
	return encode(key)
}

func encode(key crypto.Signer) (private, public []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, errors.New("encoding a service account key failed") // without the error, which may quote the key
	}
	public, err = publicPEM(key.Public())
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), public, nil
}

// PublicFromPrivate returns the public half of a private key, PEM both.
func PublicFromPrivate(privateKey []byte) ([]byte, error) {
	key, err := parsePrivateKey(privateKey)
	if err != nil {
		return nil, err
	}
	return publicPEM(key.Public())
}

// Discovery returns the issuer's discovery document. publicKeys, in PEM, verify its tokens.
func Discovery(issuer string, publicKeys []byte) ([]byte, error) {
	keys, err := parsePublicKeys(publicKeys)
	if err != nil {
		return nil, err
	}
	var algorithms []string
	for _, key := range keys {
		if a := string(algorithmOf(key)); !slices.Contains(algorithms, a) {
			algorithms = append(algorithms, a)
		}
	}
	return json.Marshal(map[string]any{
		"issuer":                                issuer,
		"jwks_uri":                              issuer + "/" + JWKSPath,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": algorithms,
	})
}

// JWKS returns the key set of the issuer for every public key in the PEM text, in the same order. A rotated key stays in the
// set while its public key is in the text.
func JWKS(publicKeys []byte) ([]byte, error) {
	keys, err := parsePublicKeys(publicKeys)
	if err != nil {
		return nil, err
	}
	set := jose.JSONWebKeySet{}
	for _, key := range keys {
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(algorithmOf(key)), Use: "sig"})
	}
	return json.Marshal(set)
}

// KeyIDs returns the IDs of all public keys in the PEM text, in the same order.
func KeyIDs(publicKeys []byte) ([]string, error) {
	keys, err := parsePublicKeys(publicKeys)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, key := range keys {
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// HasKey reports whether a document of keys has the key with this ID, which is a hash of the key.
func HasKey(jwks []byte, id string) bool {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(jwks, &set); err != nil || id == "" {
		return false
	}
	for _, key := range set.Key(id) {
		public, ok := key.Key.(crypto.PublicKey)
		if got, err := keyID(public); ok && err == nil && got == id {
			return true
		}
	}
	return false
}

// SplitPublicKeys returns each public key in the PEM text, PKIX in PEM.
func SplitPublicKeys(publicKeys []byte) ([][]byte, error) {
	keys, err := parsePublicKeys(publicKeys)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, key := range keys {
		text, err := publicPEM(key)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// KeyIDOf returns the ID of the key that has signed a token, or "" if the token has none. The signature is not verified.
func KeyIDOf(token []byte) string {
	header, _, _ := bytes.Cut(token, []byte("."))
	text, err := base64.RawURLEncoding.DecodeString(string(header))
	if err != nil {
		return ""
	}
	fields := struct {
		KeyID string `json:"kid"`
	}{}
	if json.Unmarshal(text, &fields) != nil {
		return ""
	}
	return fields.KeyID
}

// algorithmOf returns the algorithm with which kube-apiserver signs with a key of this type.
func algorithmOf(key crypto.PublicKey) jose.SignatureAlgorithm {
	if _, ok := key.(*ecdsa.PublicKey); ok {
		return jose.ES256
	}
	return jose.RS256
}

// checkKey returns an error for a public key that is not supported.
func checkKey(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return nil
		}
		return fmt.Errorf("the service account key is on curve %s, use RSA or P-256", k.Curve.Params().Name)
	}
	return fmt.Errorf("the service account key is %T, use RSA or P-256", key)
}

func parsePrivateKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the service account key is not PEM-encoded")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	var parsed any
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		parsed = key
	} else if parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		return nil, errors.New("the service account key is neither PKCS#1 nor PKCS#8 nor SEC 1")
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the service account key is %T, use RSA or P-256", parsed)
	}
	return key, checkKey(key.Public())
}

// parsePublicKeys reads one or more public keys.
func parsePublicKeys(text []byte) ([]crypto.PublicKey, error) {
	var keys []crypto.PublicKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		key, err := parsePublicKey(block)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no PEM-encoded public key found")
	}
	return keys, nil
}

// parsePublicKey reads PKIX bytes under either of the two PEM types in use for them, and PKCS#1.
func parsePublicKey(block *pem.Block) (crypto.PublicKey, error) {
	if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
		return key, checkKey(key)
	}
	key, err := x509.ParsePKCS1PublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the public key is neither PKIX nor PKCS#1")
	}
	return key, nil
}

func publicPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// keyID returns the key ID that kube-apiserver writes into its tokens, so that both refer to the same key in the published
// set.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encoding the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
