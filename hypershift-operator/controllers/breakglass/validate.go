package breakglass

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// A certificate is what a request asks for.
type certificate struct {
	pki.Request
	key      crypto.PublicKey
	validity time.Duration
}

const (
	requestBlock = "CERTIFICATE REQUEST"
	minRSA       = 2048
)

// reserved are the prefixes of groups of Kubernetes and of the operators, except for those that administrators need.
var (
	reserved  = []string{"system:", "hypershift:"}
	permitted = []string{names.SuperuserGroup, names.AdminGroup, names.ViewerGroup}
)

// validate returns the certificate that a request asks for, or what to change in the request. Nothing of the request is in the certificate
// except for the result.
func validate(csr *request) (*certificate, error) {
	block, rest := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != requestBlock || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("spec.request is not one certificate request in PEM")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("spec.request: %w", err)
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, fmt.Errorf("spec.request: the signature is not of its key: %w", err)
	}
	if err := checkUsages(csr.Spec.Usages); err != nil {
		return nil, err
	}
	if err := checkKey(parsed.PublicKey); err != nil {
		return nil, err
	}
	user := parsed.Subject.CommonName
	if name, ok := strings.CutPrefix(user, names.BreakGlassUserPrefix); !ok || name == "" {
		return nil, fmt.Errorf("spec.request: the common name is %q: begin it with %s, followed by a name", user, names.BreakGlassUserPrefix)
	}
	for _, group := range parsed.Subject.Organization {
		own := func(prefix string) bool { return strings.HasPrefix(group, prefix) }
		if group == "" || slices.ContainsFunc(reserved, own) && !slices.Contains(permitted, group) {
			return nil, fmt.Errorf("spec.request: the organization %q is not permitted: use %s, or a group of your own", group, strings.Join(permitted, ", "))
		}
	}
	if len(parsed.DNSNames)+len(parsed.EmailAddresses)+len(parsed.IPAddresses)+len(parsed.URIs) > 0 {
		return nil, errors.New("spec.request: a client certificate has no alternative names: remove them")
	}
	validity := names.BreakGlassCertificateLife
	if csr.Spec.ExpirationSeconds != nil {
		validity = min(validity, time.Duration(*csr.Spec.ExpirationSeconds)*time.Second)
	}
	if validity <= 0 {
		return nil, errors.New("spec.expirationSeconds is not positive: use at least 600, or remove it")
	}
	return &certificate{Request: pki.Request{User: user, Groups: parsed.Subject.Organization, Usage: pki.Client}, key: parsed.PublicKey, validity: validity}, nil
}

// checkUsages requires the usage of clients, and permits those of their keys.
func checkUsages(usages []certificatesv1.KeyUsage) error {
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("spec.usages lacks %q", certificatesv1.UsageClientAuth)
	}
	for _, usage := range usages {
		if !slices.Contains([]certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}, usage) {
			return fmt.Errorf("spec.usages has %q: remove it", usage)
		}
	}
	return nil
}

func checkKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSA {
			return fmt.Errorf("spec.request: the RSA key has %d bits: use at least %d", bits, minRSA)
		}
		return nil
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return nil
	}
	return errors.New("spec.request: the type of the key is not supported: use ECDSA, Ed25519 or RSA")
}
