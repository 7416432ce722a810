package certificaterevocation

import (
	"context"
	"crypto/x509"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const namespace = testenv.Namespace

// apiServers is a control plane with its certificates and two API servers, which verify certificates with the bundle that they have read
// last.
type apiServers struct {
	*testenv.Env
	// loaded is the bundle of each API server, by its address.
	loaded map[string][]byte
	// lag is the number of passes after which an API server reads a changed bundle.
	lag map[string]int
	// unreachable are addresses without a connection.
	unreachable map[string]bool
	// outage is set when an API server refuses a certificate that it has to accept.
	outage string
}

const first, second = "10.0.0.1:6443", "10.0.0.2:6443"

func newAPIServers(t testing.TB) *apiServers {
	e := &apiServers{
		loaded: map[string][]byte{}, lag: map[string]int{}, unreachable: map[string]bool{},
		Env: testenv.New(t,
			testenv.For(revocation("first"), &certificatesv1alpha1.CertificateRevocationRequestList{}),
			testenv.WithKinds(&corev1.SecretList{}, &hyperv1.HostedControlPlaneList{}),
			testenv.WithObjects(testenv.HostedControlPlane()),
			testenv.WithStatus(&corev1.Pod{}),
			testenv.WithStart(testenv.Start.Add(678)), // certificates have no fractions of a second
		),
	}
	e.Start, e.Others = e.start, e.others
	e.pod("a", "10.0.0.1")
	e.pod("b", "10.0.0.2")
	e.Must(e.others(t.Context()))
	return e
}

func revocation(name string) *certificatesv1alpha1.CertificateRevocationRequest {
	return &certificatesv1alpha1.CertificateRevocationRequest{
		ObjectMeta: testenv.In(namespace, name), Spec: certificatesv1alpha1.CertificateRevocationRequestSpec{SignerClass: certificatesv1alpha1.CustomerBreakGlass},
	}
}

func (e *apiServers) pod(name, address string) *corev1.Pod {
	e.T.Helper()
	pod := &corev1.Pod{ObjectMeta: testenv.In(namespace, name), Spec: corev1.PodSpec{NodeName: "node"}}
	pod.Labels = map[string]string{"app": names.KubeAPIServer}
	e.Create(pod)
	e.Change(pod, func() { pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address} })
	return pod
}

func (e *apiServers) start() testenv.Pass {
	c := New(Options{Client: e.Client(), Reader: e.Client(), Scheme: e.Scheme, Recorder: e.Events, Clock: e.Clock, Accepts: e.accepts})
	return testenv.PassOver(e.Env, &certificatesv1alpha1.CertificateRevocationRequestList{}, c.ReconcileObject)
}

// accepts is what a connection to an API server shows.
func (e *apiServers) accepts(_ context.Context, server Server, leaf *pki.Leaf) (bool, error) {
	if server.Name != "kube-apiserver."+namespace+".svc" || e.loaded[server.Address] == nil || e.unreachable[server.Address] {
		return false, errors.New("connection refused")
	}
	return e.verify(server.Address, leaf.Certificate), nil
}

func (e *apiServers) verify(address string, certificate *x509.Certificate) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(e.loaded[address])
	_, err := certificate.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: e.Clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err == nil
}

// others is the components controller, which writes the certificates, and the API servers, which read them.
func (e *apiServers) others(ctx context.Context) error {
	list := &certificatesv1alpha1.CertificateRevocationRequestList{}
	if err := e.Admin().List(ctx, list); err != nil {
		return err
	}
	hcps := &hyperv1.HostedControlPlaneList{}
	if err := e.Admin().List(ctx, hcps); err != nil || len(hcps.Items) == 0 {
		return err
	}
	certs := certificates.New(certificates.Options{Client: e.Admin(), Reader: e.Admin(), Scheme: e.Scheme, Recorder: &testenv.EventLog{}, Clock: e.Clock})
	if _, _, err := certs.Ensure(ctx, &hcps.Items[0], certificates.Facts{
		API: target.Host{Name: "api.demo.example.com", Port: 6443}, Revocation: certificates.RevocationIn(list.Items),
	}); err != nil {
		return err
	}
	bundle := &corev1.ConfigMap{}
	if err := certsecret.GetBundle(ctx, e.Admin(), client.ObjectKey{Namespace: namespace, Name: names.ClientCA}, bundle); err != nil {
		return err
	}
	for _, address := range []string{first, second} {
		switch text := []byte(bundle.Data[pki.TrustKey]); {
		case e.loaded[address] != nil && string(e.loaded[address]) == string(text):
		case e.lag[address] > 0 && e.loaded[address] != nil:
			e.lag[address]--
		default:
			e.loaded[address] = text
		}
		e.checkOutage(ctx, address)
	}
	return nil
}

// checkOutage looks for certificates of others that an API server refuses, and for the moment at which none of the break-glass
// authorities signs a certificate that it accepts.
func (e *apiServers) checkOutage(ctx context.Context, address string) {
	for _, name := range []string{names.ClientSigner, names.CustomerBreakGlassSigner} {
		secret := &corev1.Secret{}
		if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
			e.outage = err.Error()
			return
		}
		signer, err := pki.DecodeSigner(secret.Data)
		if err != nil {
			e.outage = err.Error()
			return
		}
		leaf, err := signer.Current.Issue(pki.Request{User: "someone", Usage: pki.Client}, pki.DefaultTerms, e.Clock.Now())
		if err != nil || !e.verify(address, leaf.Certificate) {
			e.outage = address + " refuses certificates of " + name
		}
	}
}

func (e *apiServers) signer() *pki.Signer {
	e.T.Helper()
	secret := testenv.Read(e.Env, &corev1.Secret{ObjectMeta: testenv.In(namespace, names.CustomerBreakGlassSigner)})
	signer, err := pki.DecodeSigner(secret.Data)
	e.Must(err)
	return signer
}

// client returns a certificate of an administrator, for an emergency.
func (e *apiServers) client() *x509.Certificate {
	e.T.Helper()
	leaf, err := e.signer().Issuer().Issue(pki.Request{User: names.BreakGlassUserPrefix + "alice", Groups: []string{names.SuperuserGroup}, Usage: pki.Client}, pki.DefaultTerms, e.Clock.Now())
	e.Must(err)
	return leaf.Certificate
}
