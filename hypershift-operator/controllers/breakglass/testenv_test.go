package breakglass

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	neighbour = "clusters-other"
	alice     = names.BreakGlassUserPrefix + "alice"
)

// emergency is a management cluster with two control planes.
type emergency struct {
	*testenv.Env
	signers map[string]*pki.Signer
}

var scheme = testenv.Scheme(certificatesv1.AddToScheme)

func newEmergency(t testing.TB) *emergency {
	other := testenv.HostedControlPlane()
	other.Namespace = neighbour
	e := &emergency{signers: map[string]*pki.Signer{}, Env: testenv.New(t,
		testenv.WithScheme(scheme),
		testenv.WithKinds(&certificatesv1.CertificateSigningRequestList{}, &certificatesv1alpha1.CertificateSigningRequestApprovalList{}, &hyperv1.CertificateSigningRequestApprovalList{}),
		testenv.WithStatus(&request{}),
		testenv.WithObjects(testenv.HostedControlPlane(), other),
	)}
	for _, ns := range []string{namespace, neighbour} {
		signer, err := pki.NewSigner(names.CustomerBreakGlassSigner, "", e.Clock.Now())
		e.Must(err)
		e.signers[ns] = signer
		e.Create(signerSecret(e, ns))
	}
	e.Start = e.start
	return e
}

func signerSecret(e *emergency, ns string) *corev1.Secret {
	data, err := e.signers[ns].Data()
	e.Must(err)
	return &corev1.Secret{ObjectMeta: testenv.In(ns, names.CustomerBreakGlassSigner), Data: data}
}

func (e *emergency) start() testenv.Pass {
	c := New(Options{Client: e.Client(), Reader: e.Client(), Recorder: e.Events, Clock: e.Clock})
	return testenv.PassOver(e.Env, &certificatesv1.CertificateSigningRequestList{}, c.ReconcileObject)
}

// csr returns a request for the first control plane that is correct unless the test changes it.
func (e *emergency) csr(change func(*x509.CertificateRequest, *request)) *request {
	e.T.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e.Must(err)
	return newRequest(e.T, key, e.Clock.Now(), change)
}

func newRequest(t testing.TB, key crypto.Signer, now time.Time, change func(*x509.CertificateRequest, *request)) *request {
	t.Helper()
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: alice, Organization: []string{names.SuperuserGroup}}}
	csr := &request{
		ObjectMeta: metav1.ObjectMeta{Name: "alice", CreationTimestamp: metav1.NewTime(now)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: names.BreakGlassSignerName(namespace), Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}, Username: "alice@example.com",
		},
	}
	if change != nil {
		change(template, csr)
	}
	if csr.Spec.Request == nil {
		der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
		if err != nil {
			t.Fatal(err)
		}
		csr.Spec.Request = pemOf(der)
	}
	return csr
}

func pemOf(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: requestBlock, Bytes: der}) }

func approval(ns, name string, created time.Time) *certificatesv1alpha1.CertificateSigningRequestApproval {
	a := &certificatesv1alpha1.CertificateSigningRequestApproval{ObjectMeta: testenv.In(ns, name)}
	a.CreationTimestamp = metav1.NewTime(created)
	return a
}

// result returns the state of a request: "pending", "approved", "issued", or the message of condition Failed.
func result(csr *request) string {
	if len(csr.Status.Certificate) > 0 {
		return "issued"
	}
	for _, condition := range csr.Status.Conditions {
		if condition.Type == certificatesv1.CertificateFailed {
			return condition.Message
		}
	}
	if has(csr, certificatesv1.CertificateApproved) {
		return "approved"
	}
	return "pending"
}

func (e *emergency) expect(csr *request, want string) {
	e.T.Helper()
	if got := result(testenv.Read(e.Env, csr)); got != want {
		e.T.Errorf("the request is %s, want %s", got, want)
	}
}

func (e *emergency) issued(csr *request) *x509.Certificate {
	e.T.Helper()
	certs, err := pki.ParseBundle(testenv.Read(e.Env, csr).Status.Certificate)
	e.Must(err)
	if len(certs) != 1 {
		e.T.Fatalf("%d certificates", len(certs))
	}
	return certs[0]
}
