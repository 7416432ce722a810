//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// TestBreakGlass gives a person a certificate for an emergency and revokes it, while others use the API server.
func TestBreakGlass(t *testing.T) {
	begin(t)
	b := &breakGlass{hosted: newHosted(t, "emergency", on.Versions[0])}
	b.must(certificatesv1alpha1.AddToScheme(b.management.Scheme()))
	b.create()
	b.available()
	alice := b.person("alice")
	if user := b.whoami(alice); user != "system:customer-break-glass:alice [system:masters system:authenticated]" {
		t.Errorf("the person is %s", user)
	}
	others := b.load()
	began := time.Now()
	crr := &certificatesv1alpha1.CertificateRevocationRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace(), Name: "leaked"},
		Spec:       certificatesv1alpha1.CertificateRevocationRequestSpec{SignerClass: certificatesv1alpha1.CustomerBreakGlass},
	}
	b.must(b.management.Create(t.Context(), crr))
	b.eventually("the certificates are revoked", func(ctx context.Context) error {
		if err := b.management.Get(ctx, client.ObjectKeyFromObject(crr), crr); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(crr.Status.Conditions, certificatesv1alpha1.PreviousCertificatesRevoked) {
			return fmt.Errorf("the conditions are %+v", crr.Status.Conditions)
		}
		return nil
	})
	t.Logf("revoked after %.1f s", time.Since(began).Seconds())
	t.Log(kubectl(t, "get", "certificaterevocationrequests", "-n", b.namespace(), "-o", "wide"))
	if _, err := b.ask(alice); !apierrors.IsUnauthorized(err) {
		t.Errorf("the revoked certificate: %v", err)
	}
	if user := b.whoami(b.person("bob")); !strings.HasPrefix(user, "system:customer-break-glass:bob ") {
		t.Errorf("the next person is %s", user)
	}
	others.Stop()
	if got := others.Count(); got.Asked == 0 || got.Failed > 0 {
		t.Errorf("requests of others: %v", got)
	}
	b.startedOnce()
}

// breakGlass is a cluster in an emergency.
type breakGlass struct{ *hosted }

// person requests and approves a certificate for a person, and returns the configuration with it.
func (b *breakGlass) person(name string) *rest.Config {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	b.must(err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: names.BreakGlassUserPrefix + name, Organization: []string{names.SuperuserGroup}},
	}, key)
	b.must(err)
	private, err := x509.MarshalECPrivateKey(key)
	b.must(err)
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: b.namespace() + "-" + name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: names.BreakGlassSignerName(b.namespace()), Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	b.must(b.management.Create(b.t.Context(), csr))
	b.t.Cleanup(func() { b.must(client.IgnoreNotFound(b.management.Delete(context.WithoutCancel(b.t.Context()), csr))) })
	b.must(b.management.Create(b.t.Context(), &certificatesv1alpha1.CertificateSigningRequestApproval{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace(), Name: csr.Name}}))
	b.eventually("the request is signed", func(ctx context.Context) error {
		if err := b.management.Get(ctx, client.ObjectKeyFromObject(csr), csr); err != nil {
			return err
		}
		if len(csr.Status.Certificate) == 0 {
			return fmt.Errorf("its conditions are %+v", csr.Status.Conditions)
		}
		return nil
	})
	cfg, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	b.must(err)
	person := rest.AnonymousClientConfig(cfg)
	person.CertData, person.KeyData = csr.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	return person
}

// ask returns the user that the API server takes a client for.
func (b *breakGlass) ask(cfg *rest.Config) (string, error) {
	c, err := client.New(cfg, client.Options{Scheme: b.management.Scheme()})
	if err != nil {
		return "", err
	}
	review := &authenticationv1.SelfSubjectReview{}
	err = c.Create(b.t.Context(), review)
	return fmt.Sprint(review.Status.UserInfo.Username, " ", review.Status.UserInfo.Groups), err
}

func (b *breakGlass) whoami(cfg *rest.Config) (user string) {
	b.t.Helper()
	b.eventually("the API server accepts the certificate", func(context.Context) (err error) {
		if user, err = b.ask(cfg); apierrors.IsUnauthorized(err) {
			return errors.New("the certificate is not accepted")
		}
		return err
	})
	return user
}
