package certificates

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// rotate requests new authorities as a user does.
var rotate = annotated(hyperv1.RotateCertificatesAnnotation, "2026-01-02")

func rolledOut(string) bool { return true }

// trusted returns the number of trusted authorities of a signer.
func (e *certificateAuthorities) trusted(signer string) int {
	e.T.Helper()
	certs, err := pki.ParseBundle(e.secret(signer).Data["ca.crt"])
	e.Must(err)
	return len(certs)
}

// signing returns the authority that signs.
func (e *certificateAuthorities) signing(signer string) []byte {
	return e.secret(signer).Data[corev1.TLSCertKey]
}

// During a rotation pods have Secrets of this step or of the previous one. Every combination must work.
func TestRotationKeepsAllConnectionsWorking(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.facts.RolledOut = rolledOut
	e.Once()
	e.ChangeHCP(rotate)
	first, before := e.signing(names.RootCA), e.ends()
	for _, step := range []struct {
		name     string
		trusted  int
		newSigns bool
		nodes    int // number of trusted authorities for nodes
	}{
		{"the next one is introduced", 2, false, 2},
		{"it signs", 2, true, 2},
		{"the old one is dropped", 1, true, 2},
	} {
		if n := e.Once(); n == 0 {
			t.Fatalf("%s: nothing happens", step.name)
		}
		after := e.ends()
		e.between(before, after)
		e.between(after, before)
		e.between(after, after)
		if e.trusted(names.RootCA) != step.trusted || e.trusted(names.ClusterSignerCA) != step.nodes || bytes.Equal(e.signing(names.RootCA), first) == step.newSigns {
			t.Errorf("%s: %d trusted, %d of those for nodes, the first one signs: %v", step.name, e.trusted(names.RootCA), e.trusted(names.ClusterSignerCA), bytes.Equal(e.signing(names.RootCA), first))
		}
		e.heard("Normal CertificateAuthorityRotation")
		if n := e.Once(); n != 0 {
			t.Errorf("%s: %d writes before the step has taken its time", step.name, n)
		}
		before = after
		e.Clock.Step(DefaultStepDuration)
	}
	// kubelets have certificates of the old authority until they renew them.
	e.Clock.Step(nodeCertificates)
	e.Once() // all other certificates are renewed
	e.Clock.Step(DefaultStepDuration)
	e.Once()
	if n := e.trusted(names.ClusterSignerCA); n != 1 {
		t.Errorf("%d authorities for nodes are trusted when nothing is left of the old one", n)
	}
}

// Older operators issued node certificates for a year.
func TestCertificatesOfOldNodesStayTrustedForAYear(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.facts.RolledOut = rolledOut
	e.Once()
	s := e.secret(names.ClusterSignerCA)
	delete(s.Data, "rotation") // as an older operator wrote it
	e.Must(e.Admin().Update(t.Context(), s))
	e.Once()
	e.ChangeHCP(rotate)
	for range 3 {
		e.Once()
		e.Clock.Step(DefaultStepDuration)
	}
	e.Clock.Step(nodeCertificates)
	e.Once()
	e.Clock.Step(DefaultStepDuration)
	if e.Once(); e.trusted(names.ClusterSignerCA) != 2 {
		t.Fatal("nodes that joined before the upgrade lose the API server")
	}
	e.Clock.Step(legacyNodeCertificateRetention - nodeCertificates)
	e.Once()
	e.Clock.Step(DefaultStepDuration)
	if e.Once(); e.trusted(names.ClusterSignerCA) != 1 {
		t.Error("the old authority is trusted for ever")
	}
}

// A certificate cannot be revoked.
func TestAdministratorCertificateHasShortValidity(t *testing.T) {
	for annotation, want := range map[string]time.Duration{"": adminValidity, "8760h": 8760 * time.Hour, "1h": time.Hour} {
		e := newCertificateAuthorities(t, annotated(hyperv1.CertificateValidityAnnotation, annotation))
		e.facts = reachable
		e.Once()
		leaf := e.ends()[names.AdminKubeconfig]
		certs, err := pki.ParseBundle(leaf.cert)
		e.Must(err)
		if got := certs[0].NotAfter.Sub(e.Clock.Now()).Round(time.Minute); got != want {
			t.Errorf("%q: good for %s, want %s", annotation, got, want)
		}
	}
}

func TestRotationWaitsForTheRollout(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	e.ChangeHCP(rotate)
	late := map[string]bool{names.EtcdSigner: true}
	e.facts.RolledOut = func(signer string) bool { return !late[signer] }
	e.Once()
	first := e.signing(names.EtcdSigner)
	e.Clock.Step(time.Hour)
	e.Once()
	if !bytes.Equal(e.signing(names.EtcdSigner), first) {
		t.Error("the next authority signs before everybody trusts it")
	}
	if e.RequeueAfter > 2*DefaultStepDuration {
		t.Errorf("looks again only after %s", e.RequeueAfter)
	}
	late[names.EtcdSigner] = false
	e.Clock.Step(DefaultStepDuration)
	e.Once()
	if bytes.Equal(e.signing(names.EtcdSigner), first) {
		t.Error("the next authority does not sign although everybody trusts it")
	}
}

// Programs in the cluster may have to be restarted by hand in between.
func TestAnnotationSetsTheDurationOfRotationSteps(t *testing.T) {
	for pause, want := range map[string]time.Duration{"2h": 2 * time.Hour, "20s": 20 * time.Second, "soon": DefaultStepDuration, "-1h": DefaultStepDuration} {
		e := newCertificateAuthorities(t, annotated(hyperv1.RotationPauseAnnotation, pause))
		e.facts.RolledOut = rolledOut
		e.Once()
		e.ChangeHCP(rotate)
		e.Once()
		first := e.signing(names.RootCA)
		e.Clock.Step(want - time.Second)
		e.Once()
		if !bytes.Equal(e.signing(names.RootCA), first) {
			t.Errorf("%s: the next authority signs already", pause)
		}
		e.Clock.Step(2 * time.Second)
		e.Once()
		if bytes.Equal(e.signing(names.RootCA), first) {
			t.Errorf("%s: the next authority does not sign yet", pause)
		}
	}
}

// An operator that dies between writing the authority and the trust bundles, and is away for long, has not distributed
// the new authority.
func TestStepDurationRestartsAfterACrash(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.facts.RolledOut = rolledOut
	e.Once()
	e.ChangeHCP(rotate)
	old := e.secret(names.EtcdClientCertificate).Data
	e.Once()
	first := e.signing(names.EtcdSigner)
	e.spoil(names.EtcdClientCertificate, func(data map[string][]byte) { data["ca.crt"] = old["ca.crt"] })
	e.Clock.Step(time.Hour)
	for range 2 {
		e.Once()
		if !bytes.Equal(e.signing(names.EtcdSigner), first) {
			t.Fatal("the next authority signs, and a client of etcd has just heard of it")
		}
	}
	e.Clock.Step(DefaultStepDuration)
	e.Once()
	if bytes.Equal(e.signing(names.EtcdSigner), first) {
		t.Error("it never signs")
	}
}

func TestAuthoritiesNewerThanTheRequestAreKept(t *testing.T) {
	e := newCertificateAuthorities(t, rotate)
	e.facts.RolledOut = rolledOut
	e.Once()
	e.Clock.Step(time.Hour)
	if n := e.Once(); n != 0 || e.trusted(names.RootCA) != 1 {
		t.Errorf("%d writes", n)
	}
}
