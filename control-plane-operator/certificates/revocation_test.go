package certificates

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// Nobody else's certificate changes, so that no client loses its connection.
func TestRevocationChangesOnlyBreakGlassCertificates(t *testing.T) {
	e := newCertificateAuthorities(t, withOwnName)
	e.Once()
	before, ends := e.secrets(), e.ends()
	former := e.signing(names.CustomerBreakGlassSigner)
	for _, step := range []struct {
		name     string
		trusted  bool
		inBundle int
		newSigns bool
	}{
		{"the next authority is introduced", false, 4, false},
		{"it signs", true, 4, true},
		{"the former one is dropped", true, 3, true},
	} {
		e.facts.Revocation = Revocation{ID: "1", Trusted: step.trusted}
		if n := e.Once(); n == 0 {
			t.Fatalf("%s: nothing happens", step.name)
		}
		bundle, err := pki.ParseBundle(e.bundle(names.ClientCA))
		e.Must(err)
		if len(bundle) != step.inBundle || bytes.Equal(e.signing(names.CustomerBreakGlassSigner), former) == step.newSigns {
			t.Errorf("%s: %d authorities are trusted", step.name, len(bundle))
		}
		after := e.ends()
		e.between(ends, after)
		ends = after
		if step.trusted {
			continue
		}
		if n := e.Once(); n != 0 {
			t.Errorf("%s: %d writes before the next authority is trusted", step.name, n)
		}
	}
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes after the revocation", n)
	}
	var changed []string
	for name, secret := range e.secrets() {
		if !maps.EqualFunc(secret.Data, before[name].Data, bytes.Equal) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	if want := []string{names.CustomerBreakGlassCertificate, names.CustomerBreakGlassSigner}; !slices.Equal(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
	if refuses := handshake(ends[names.APIServerPrivateCertificate].trusting(before[names.CustomerBreakGlassSigner].Data["ca.crt"]), end{cert: before[names.CustomerBreakGlassCertificate].Data[corev1.TLSCertKey], key: before[names.CustomerBreakGlassCertificate].Data[corev1.TLSPrivateKeyKey], trust: e.bundle(names.RootCA)}, "localhost", e.Clock.Now()); refuses != nil {
		t.Errorf("the test has no certificate of the former authority: %v", refuses)
	}
	if refuses := handshake(ends[names.APIServerPrivateCertificate].trusting(e.bundle(names.ClientCA)), end{cert: before[names.CustomerBreakGlassCertificate].Data[corev1.TLSCertKey], key: before[names.CustomerBreakGlassCertificate].Data[corev1.TLSPrivateKeyKey], trust: e.bundle(names.RootCA)}, "localhost", e.Clock.Now()); refuses == nil {
		t.Error("a certificate of the former authority is accepted")
	}
}

func (e end) trusting(bundle []byte) end {
	e.trust = bundle
	return e
}

// A rotation of all authorities waits for the revocation of this one.
func TestRotationOfOtherAuthoritiesContinuesDuringARevocation(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.facts.RolledOut = rolledOut
	e.Once()
	e.facts.Revocation = Revocation{ID: "1"}
	e.ChangeHCP(rotate)
	former := e.signing(names.CustomerBreakGlassSigner)
	client := e.signing(names.ClientSigner)
	for range 3 {
		e.Once()
		e.Clock.Step(DefaultStepDuration)
	}
	if bytes.Equal(e.signing(names.ClientSigner), client) || !bytes.Equal(e.signing(names.CustomerBreakGlassSigner), former) {
		t.Error("the rotation does not advance, or switches an authority that is not trusted")
	}
}

func TestRevocationIsRepeatableAfterACrash(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := newCertificateAuthorities(t)
		certs := New(Options{Client: e.Admin(), Reader: e.Admin(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock})
		_, _, err := certs.Ensure(t.Context(), e.HCP(), e.facts)
		e.Must(err)
		e.facts.Revocation = Revocation{ID: "1", Trusted: true}
		s := e.story()
		return s
	})
}

func TestOneRevocationAtATime(t *testing.T) {
	request := func(name string, after time.Duration, change func(*certificatesv1alpha1.CertificateRevocationRequest)) certificatesv1alpha1.CertificateRevocationRequest {
		crr := certificatesv1alpha1.CertificateRevocationRequest{
			ObjectMeta: testenv.In(namespace, name), Spec: certificatesv1alpha1.CertificateRevocationRequestSpec{SignerClass: certificatesv1alpha1.CustomerBreakGlass},
		}
		crr.UID, crr.CreationTimestamp = "uid-1", metav1.NewTime(testenv.Start.Add(after))
		if change != nil {
			change(&crr)
		}
		return crr
	}
	stored := func(crr *certificatesv1alpha1.CertificateRevocationRequest) {
		crr.Status.PreviousSigner = &corev1.LocalObjectReference{Name: "previous"}
	}
	set := func(conditionType string) func(*certificatesv1alpha1.CertificateRevocationRequest) {
		return func(crr *certificatesv1alpha1.CertificateRevocationRequest) {
			stored(crr)
			crr.Status.Conditions = []metav1.Condition{{Type: conditionType, Status: metav1.ConditionTrue}}
		}
	}
	complete := set(certificatesv1alpha1.PreviousCertificatesRevoked)
	for name, c := range map[string]struct {
		requests []certificatesv1alpha1.CertificateRevocationRequest
		want     string
		trusted  bool
		begun    bool
	}{
		"none":                     {},
		"the oldest":               {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("a", time.Minute, nil), request("b", 0, nil)}, want: "b"},
		"of one second, by name":   {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("b", 0, nil), request("a", 0, nil)}, want: "a"},
		"one that has begun stays": {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("b", 0, stored), request("a", 0, nil)}, want: "b", begun: true},
		"a complete one is over":   {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("a", 0, complete), request("b", time.Hour, nil)}, want: "b"},
		"all are complete":         {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("a", 0, complete)}},
		"trusted":                  {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("a", 0, set(certificatesv1alpha1.NewCertificatesTrusted))}, want: "a", begun: true, trusted: true},
		"of another class": {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("a", 0, func(crr *certificatesv1alpha1.CertificateRevocationRequest) {
			crr.Spec.SignerClass = "sre-break-glass"
		})}},
		"about to be deleted": {requests: []certificatesv1alpha1.CertificateRevocationRequest{request("a", 0, func(crr *certificatesv1alpha1.CertificateRevocationRequest) {
			crr.DeletionTimestamp = &metav1.Time{Time: testenv.Start}
		})}},
	} {
		active := ActiveRevocation(c.requests)
		if c.want == "" != (active == nil) || active != nil && active.Name != c.want {
			t.Errorf("%s: %+v, want %s", name, active, c.want)
		}
		in := RevocationIn(c.requests)
		if (in.ID != "") != c.begun || in.Trusted != c.trusted {
			t.Errorf("%s: %+v", name, in)
		}
	}
}
