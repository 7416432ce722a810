package breakglass

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// A request that is valid leads to a client certificate for a user of this signer, of permitted groups, and nothing else.
func FuzzValidate(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]string{{alice, "system:masters"}, {alice, "system:nodes"}, {names.BreakGlassUserPrefix, ""}, {"system:admin", "a"}, {alice + "\x00", "\nsystem:masters"}} {
		f.Add([]byte{}, seed[0], seed[1], "client auth", "", int32(600))
	}
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n"), alice, "", "client auth", "a.example.com", int32(-1))
	f.Fuzz(func(t *testing.T, text []byte, user, group, usage, host string, seconds int32) {
		csr := &request{Spec: certificatesv1.CertificateSigningRequestSpec{Request: text}}
		if len(text) == 0 {
			template := &x509.CertificateRequest{}
			template.Subject.CommonName, template.Subject.Organization = user, []string{group}
			if host != "" {
				template.DNSNames = []string{host}
			}
			der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
			if err != nil {
				return // no program can create it
			}
			csr.Spec.Request = pemOf(der)
		}
		csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.KeyUsage(usage)}
		csr.Spec.ExpirationSeconds = &seconds
		wanted, err := validate(csr)
		if err != nil {
			if len(err.Error()) > 10*(len(csr.Spec.Request)+len(usage)+100) {
				t.Errorf("the user gets %.2000v", err)
			}
			return
		}
		if !strings.HasPrefix(wanted.User, names.BreakGlassUserPrefix) || wanted.Usage != pki.Client || len(wanted.Hosts) > 0 || wanted.validity <= 0 || wanted.validity > names.BreakGlassCertificateLife {
			t.Errorf("a certificate for %+v", wanted)
		}
		for _, group := range wanted.Groups {
			if (strings.HasPrefix(group, "system:") || strings.HasPrefix(group, "hypershift:")) && !slices.Contains(permitted, group) {
				t.Errorf("a certificate of group %q", group)
			}
		}
		signer, err := pki.NewSigner(names.CustomerBreakGlassSigner, "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := signer.Current.Certify(wanted.key, wanted.Request, pki.Terms{Validity: wanted.validity}, time.Now())
		if err == nil && (certificate.Subject.CommonName != wanted.User || certificate.IsCA) {
			t.Errorf("the certificate is for %s", certificate.Subject)
		}
	})
}
