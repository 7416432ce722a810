package breakglass

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestApprovedRequestIsSignedByTheAuthorityOfItsControlPlane(t *testing.T) {
	e := newEmergency(t)
	csr := e.csr(func(template *x509.CertificateRequest, csr *request) {
		template.Subject.Locality = []string{"Somewhere"}
		csr.Spec.Usages = append(csr.Spec.Usages, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment)
	})
	e.Create(csr)
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes without an approval", n)
	}
	e.Create(approval(namespace, "alice", e.Clock.Now()))
	e.Once()
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes after the certificate", n)
	}
	certificate := e.issued(csr)
	if certificate.CheckSignatureFrom(e.signers[namespace].Current.Certificate) != nil {
		t.Error("another authority has signed")
	}
	if s := certificate.Subject; s.CommonName != alice || !slices.Equal(s.Organization, []string{names.SuperuserGroup}) || len(s.Names) != 2 {
		t.Errorf("it is for %s", s)
	}
	if !slices.Equal(certificate.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) || certificate.IsCA {
		t.Errorf("its usages are %v; it is of an authority: %v", certificate.ExtKeyUsage, certificate.IsCA)
	}
	if until := e.Clock.Now().Add(names.BreakGlassCertificateLife); !certificate.NotAfter.Equal(until) {
		t.Errorf("it is valid until %s, want %s", certificate.NotAfter, until)
	}
	approved := testenv.Read(e.Env, csr)
	if approved.Status.Conditions[0].Reason != "ApprovalPresent" {
		t.Errorf("%+v", approved.Status.Conditions)
	}
	if events := e.Events.Drain(); len(events) != 1 || !strings.Contains(events[0], "BreakGlassCertificateIssued: CertificateSigningRequest alice of alice@example.com has a certificate for "+alice) {
		t.Errorf("events: %q", events)
	}
}

func TestRequestedValidityIsTheLongestOne(t *testing.T) {
	for seconds, want := range map[int32]time.Duration{600: 10 * time.Minute, 86400: 24 * time.Hour, 7 * 86400: names.BreakGlassCertificateLife} {
		e := newEmergency(t)
		csr := e.csr(func(_ *x509.CertificateRequest, csr *request) { csr.Spec.ExpirationSeconds = ptr.To(seconds) })
		e.Create(csr, approval(namespace, "alice", e.Clock.Now()))
		e.Once()
		if got := e.issued(csr).NotAfter.Sub(e.Clock.Now()); got != want {
			t.Errorf("%d: %s, want %s", seconds, got, want)
		}
	}
}

// An approval of either kind approves; nothing else does.
func TestOnlyAnApprovalInTheNamespaceOfTheSignerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*emergency)
		change  func(*request)
		want    string
	}{
		"no approval":                         {func(*emergency) {}, nil, "pending"},
		"an approval":                         {func(e *emergency) { e.Create(approval(namespace, "alice", e.Clock.Now())) }, nil, "issued"},
		"in the namespace of the neighbour":   {func(e *emergency) { e.Create(approval(neighbour, "alice", e.Clock.Now())) }, nil, "pending"},
		"in the namespace of the users":       {func(e *emergency) { e.Create(approval("clusters", "alice", e.Clock.Now())) }, nil, "pending"},
		"for another name":                    {func(e *emergency) { e.Create(approval(namespace, "bob", e.Clock.Now())) }, nil, "pending"},
		"older than the request":              {func(e *emergency) { e.Create(approval(namespace, "alice", e.Clock.Now().Add(-time.Hour))) }, nil, "pending"},
		"created a moment before the request": {func(e *emergency) { e.Create(approval(namespace, "alice", e.Clock.Now().Add(-time.Minute))) }, nil, "issued"},
		"for the UID of an earlier request":   {func(e *emergency) { e.Create(claimed(e, "uid-1")) }, nil, "pending"},
		"created before, for this UID":        {func(e *emergency) { e.Create(claimed(e, "uid-of-alice")) }, nil, "issued"},
		"no control plane":                    {func(e *emergency) { e.Delete(testenv.HostedControlPlane()) }, nil, "pending"},
		"another signer of Kubernetes":        {all, func(csr *request) { csr.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName }, "pending"},
		"another class":                       {all, func(csr *request) { csr.Spec.SignerName = "hypershift.openshift.io/" + namespace + ".sre-break-glass" }, "pending"},
		"the domain only":                     {all, func(csr *request) { csr.Spec.SignerName = "hypershift.openshift.io/.customer-break-glass" }, "pending"},
		"a suffix of the domain": {all, func(csr *request) {
			csr.Spec.SignerName = "hypershift.openshift.io.example.com/" + namespace + ".customer-break-glass"
		}, "pending"},
		"two namespaces": {all, func(csr *request) {
			csr.Spec.SignerName = "hypershift.openshift.io/" + neighbour + "." + namespace + ".customer-break-glass"
		}, "pending"},
		"denied by an administrator":   {all, func(csr *request) { set(csr, certificatesv1.CertificateDenied) }, "pending"},
		"approved by an administrator": {func(*emergency) {}, func(csr *request) { set(csr, certificatesv1.CertificateApproved) }, "issued"},
		"approved with a signer of others": {func(*emergency) {}, func(csr *request) {
			set(csr, certificatesv1.CertificateApproved)
			csr.Spec.SignerName = "example.com/a"
		}, "approved"},
		"a kind of the group hypershift":      {func(e *emergency) { e.Create(older(e)) }, nil, "issued"},
		"one of two kinds is for another one": {func(e *emergency) { e.Create(older(e), claimed(e, "uid-1")) }, nil, "issued"},
		"an approval that is being deleted": {func(e *emergency) {
			a := claimed(e, "")
			a.Finalizers = []string{"example.com/a"}
			e.Create(a)
			e.Delete(a)
		}, nil, "pending"},
		"failed before":                   {all, func(csr *request) { set(csr, certificatesv1.CertificateFailed) }, "because"},
		"a control plane that is deleted": {func(e *emergency) { all(e); finalized(e) }, nil, "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmergency(t)
			c.prepare(e)
			csr := e.csr(func(_ *x509.CertificateRequest, csr *request) {
				csr.UID = "uid-of-alice"
				if c.change != nil {
					c.change(csr)
				}
			})
			e.Create(csr)
			if len(csr.Status.Conditions) > 0 {
				e.UpdateStatus(withStatus(testenv.Read(e.Env, csr.DeepCopy()), csr.Status))
			}
			e.Once()
			e.expect(csr, c.want)
		})
	}
}

func withStatus(csr *request, status certificatesv1.CertificateSigningRequestStatus) *request {
	csr.Status = status
	return csr
}

// all approves the request in every namespace.
func all(e *emergency) {
	e.Create(approval(namespace, "alice", e.Clock.Now()), approval(neighbour, "alice", e.Clock.Now()))
}

// older is an approval of the group hypershift.openshift.io.
func older(e *emergency) *hyperv1.CertificateSigningRequestApproval {
	a := &hyperv1.CertificateSigningRequestApproval{ObjectMeta: testenv.In(namespace, "alice")}
	a.CreationTimestamp = metav1.NewTime(e.Clock.Now())
	return a
}

func finalized(e *emergency) {
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Finalizers = []string{"example.com/a"} })
	e.Delete(testenv.HostedControlPlane())
}

func set(csr *request, conditionType certificatesv1.RequestConditionType) {
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: conditionType, Status: corev1.ConditionTrue, Message: "because"}}
}

// A request is deleted an hour after its approval. Another user may create one with its name, and a key of their own.
func TestAnApprovalIsForOneRequest(t *testing.T) {
	e := newEmergency(t)
	csr := e.csr(nil)
	csr.UID = "uid-1"
	e.Create(csr, approval(namespace, "alice", e.Clock.Now()))
	e.Once()
	e.expect(csr, "issued")
	e.Delete(csr)
	e.Events.Drain()

	stolen := e.csr(nil) // in the same second
	stolen.UID = "uid-2"
	e.Create(stolen)
	e.Once()
	e.expect(stolen, "pending")
	if events := e.Events.Drain(); len(events) != 1 || !strings.Contains(events[0], "ApprovalNotUsed: it is for an earlier CertificateSigningRequest alice, with the UID uid-1") {
		t.Errorf("events: %q", events)
	}
	e.Delete(approval(namespace, "alice", e.Clock.Now()))
	e.Create(approval(namespace, "alice", e.Clock.Now()))
	e.Once()
	e.expect(stolen, "issued") // the user has looked at it, and approves it
}

func TestRequestsThatAreNotSigned(t *testing.T) {
	const prefix = "spec.request: "
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*x509.CertificateRequest, *request)
		key    *rsa.PrivateKey
		want   string
	}{
		"a common name without the prefix": {change: func(r *x509.CertificateRequest, _ *request) { r.Subject.CommonName = "alice" },
			want: prefix + `the common name is "alice": begin it with system:customer-break-glass:, followed by a name`},
		"a common name of a component": {change: func(r *x509.CertificateRequest, _ *request) { r.Subject.CommonName = "system:kube-controller-manager" },
			want: prefix + `the common name is "system:kube-controller-manager": begin it with system:customer-break-glass:, followed by a name`},
		"nothing but the prefix": {change: func(r *x509.CertificateRequest, _ *request) { r.Subject.CommonName = names.BreakGlassUserPrefix },
			want: prefix + `the common name is "system:customer-break-glass:": begin it with system:customer-break-glass:, followed by a name`},
		"the usage of a server": {change: func(_ *x509.CertificateRequest, csr *request) {
			csr.Spec.Usages = append(csr.Spec.Usages, certificatesv1.UsageServerAuth)
		}, want: `spec.usages has "server auth": remove it`},
		"the usage of an authority": {change: func(_ *x509.CertificateRequest, csr *request) {
			csr.Spec.Usages = append(csr.Spec.Usages, certificatesv1.UsageCertSign)
		}, want: `spec.usages has "cert sign": remove it`},
		"without the usage of a client": {change: func(_ *x509.CertificateRequest, csr *request) {
			csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature}
		}, want: `spec.usages lacks "client auth"`},
		"a group of nodes": {change: func(r *x509.CertificateRequest, _ *request) { r.Subject.Organization = []string{"system:nodes"} },
			want: prefix + `the organization "system:nodes" is not permitted: use system:masters, hypershift:cluster-admins, hypershift:cluster-viewers, or a group of your own`},
		"a group of an operator, beside a permitted one": {change: func(r *x509.CertificateRequest, _ *request) {
			r.Subject.Organization = []string{names.SuperuserGroup, names.ControlPlaneOperatorGroup}
		}, want: prefix + `the organization "` + names.ControlPlaneOperatorGroup + `" is not permitted: use system:masters, hypershift:cluster-admins, hypershift:cluster-viewers, or a group of your own`},
		"an empty group": {change: func(r *x509.CertificateRequest, _ *request) { r.Subject.Organization = []string{""} },
			want: prefix + `the organization "" is not permitted: use system:masters, hypershift:cluster-admins, hypershift:cluster-viewers, or a group of your own`},
		"a host name":     {change: func(r *x509.CertificateRequest, _ *request) { r.DNSNames = []string{"kube-apiserver"} }, want: prefix + "a client certificate has no alternative names: remove them"},
		"an address":      {change: func(r *x509.CertificateRequest, _ *request) { r.IPAddresses = []net.IP{{127, 0, 0, 1}} }, want: prefix + "a client certificate has no alternative names: remove them"},
		"a weak key":      {key: weak, want: prefix + "the RSA key has 1024 bits: use at least 2048"},
		"no PEM":          {change: func(_ *x509.CertificateRequest, csr *request) { csr.Spec.Request = []byte("request") }, want: "spec.request is not one certificate request in PEM"},
		"expired at once": {change: func(_ *x509.CertificateRequest, csr *request) { csr.Spec.ExpirationSeconds = ptr.To[int32](0) }, want: "spec.expirationSeconds is not positive: use at least 600, or remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []certificatesv1.RequestConditionType{"", certificatesv1.CertificateApproved} {
				e := newEmergency(t)
				csr := e.csr(c.change)
				if c.key != nil {
					csr = newRequest(t, c.key, e.Clock.Now(), c.change)
				}
				e.Create(csr)
				if before == "" {
					e.Once()
					e.expect(csr, "pending") // a user who may only create requests learns nothing
					e.Create(approval(namespace, "alice", e.Clock.Now()))
				} else {
					live := testenv.Read(e.Env, csr.DeepCopy())
					set(live, before)
					e.UpdateStatus(live)
				}
				e.Once()
				e.expect(csr, c.want)
				if n := e.Once(); n != 0 {
					t.Errorf("%d writes afterwards", n)
				}
			}
		})
	}
}

func TestForgedRequestIsNotSigned(t *testing.T) {
	e := newEmergency(t)
	csr, other := e.csr(nil), e.csr(nil)
	for i := range csr.Spec.Request { // the signature is at the end
		if i > len(csr.Spec.Request)*3/4 && csr.Spec.Request[i] != '\n' && i < len(csr.Spec.Request)*4/5 {
			csr.Spec.Request[i] = other.Spec.Request[i]
		}
	}
	if _, err := validate(csr); err == nil {
		t.Error("a request with the signature of another key is valid")
	}
	two := e.csr(nil)
	two.Spec.Request = bytes.Repeat(two.Spec.Request, 2)
	if _, err := validate(two); err == nil {
		t.Error("two requests at once are valid")
	}
}

func TestOwnGroupsArePermitted(t *testing.T) {
	for _, groups := range [][]string{nil, {"team-a"}, {names.AdminGroup}, {names.ViewerGroup, "on-call"}} {
		e := newEmergency(t)
		csr := e.csr(func(template *x509.CertificateRequest, _ *request) { template.Subject.Organization = groups })
		e.Create(csr, approval(namespace, "alice", e.Clock.Now()))
		e.Once()
		if got := e.issued(csr).Subject.Organization; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(groups))) {
			t.Errorf("groups %q, want %q", got, groups)
		}
	}
}

// A certificate that is issued during a revocation is not revoked a minute later.
func TestCertificatesDuringARevocationAreOfTheNextAuthority(t *testing.T) {
	e := newEmergency(t)
	signer := e.signers[namespace]
	_, err := signer.Revoke(names.CustomerBreakGlassSigner, "1", false, e.Clock.Now())
	e.Must(err)
	e.Put(signerSecret(e, namespace))
	csr := e.csr(nil)
	e.Create(csr, approval(namespace, "alice", e.Clock.Now()))
	e.Once()
	if e.issued(csr).CheckSignatureFrom(signer.Next.Certificate) != nil {
		t.Error("the certificate is about to be revoked")
	}
}

func TestRequestWaitsForTheAuthority(t *testing.T) {
	for name, spoil := range map[string]func(*emergency){
		"it does not exist yet": func(e *emergency) { e.Delete(signerSecret(e, namespace)) },
		"it is unreadable":      func(e *emergency) { s := signerSecret(e, namespace); clear(s.Data); e.Put(s) },
		"it has expired":        func(e *emergency) { e.Clock.Step(11 * 365 * 24 * time.Hour) },
	} {
		e := newEmergency(t)
		spoil(e)
		csr := e.csr(nil)
		e.Create(csr, approval(namespace, "alice", e.Clock.Now()))
		e.Once()
		e.expect(csr, "approved")
		if e.RequeueAfter != retryAfter {
			t.Errorf("%s: again after %s", name, e.RequeueAfter)
		}
		signer, err := pki.NewSigner(names.CustomerBreakGlassSigner, "", e.Clock.Now())
		e.Must(err)
		e.signers[namespace] = signer
		e.Put(signerSecret(e, namespace))
		e.Later()
		e.expect(csr, "issued")
	}
}

func TestKeysThatArePermitted(t *testing.T) {
	strong, err := rsa.GenerateKey(rand.Reader, minRSA)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	e := newEmergency(t)
	for _, csr := range []*request{newRequest(t, strong, e.Clock.Now(), nil), newRequest(t, p384, e.Clock.Now(), nil)} {
		if _, err := validate(csr); err != nil {
			t.Error(err)
		}
	}
}

// random matches texts that differ between runs.
var random = regexp.MustCompile(`(request|certificate): [^\n]+`)

func TestCrashConsistency(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario {
		e := newEmergency(t)
		csr := e.csr(nil)
		e.Create(csr, approval(namespace, "alice", e.Clock.Now()))
		s := &crashtest.Scenario{
			Cluster: e.Cluster, Start: e.Start, Advance: func(time.Duration) {}, Mask: func(text string) string { return random.ReplaceAllString(text, "...") },
			Ready: func(context.Context) string {
				if got := result(testenv.Read(e.Env, csr.DeepCopy())); got != "issued" {
					return got
				}
				return ""
			},
			Delete: func(ctx context.Context) error { return e.Admin().Delete(ctx, csr.DeepCopy()) },
		}
		return s
	}
	crashtest.CrashConsistency(t, begin)
}

// claimed is an old approval for a UID.
func claimed(e *emergency, uid string) *certificatesv1alpha1.CertificateSigningRequestApproval {
	a := approval(namespace, "alice", e.Clock.Now().Add(-time.Hour))
	if uid == "" {
		a.CreationTimestamp = metav1.NewTime(e.Clock.Now())
		return a
	}
	a.Annotations = map[string]string{hyperv1.ApprovedRequestAnnotation: uid}
	return a
}
