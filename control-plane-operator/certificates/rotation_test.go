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
func (w *testEnv) trusted(signer string) int {
	w.t.Helper()
	certs, err := pki.ParseBundle(w.secret(signer).Data["ca.crt"])
	w.must(err)
	return len(certs)
}

// signing returns the authority that signs.
func (w *testEnv) signing(signer string) []byte { return w.secret(signer).Data[corev1.TLSCertKey] }

// During a rotation pods have Secrets of this step or of the previous one. Every combination must work.
func TestRotationKeepsAllConnectionsWorking(t *testing.T) {
	w := newTestEnv(t)
	w.facts.RolledOut = rolledOut
	w.pass()
	w.change(rotate)
	first, before := w.signing(names.RootCA), w.ends()
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
		if n := w.pass(); n == 0 {
			t.Fatalf("%s: nothing happens", step.name)
		}
		after := w.ends()
		w.between(before, after)
		w.between(after, before)
		w.between(after, after)
		if w.trusted(names.RootCA) != step.trusted || w.trusted(names.ClusterSignerCA) != step.nodes || bytes.Equal(w.signing(names.RootCA), first) == step.newSigns {
			t.Errorf("%s: %d trusted, %d of those for nodes, the first one signs: %v", step.name, w.trusted(names.RootCA), w.trusted(names.ClusterSignerCA), bytes.Equal(w.signing(names.RootCA), first))
		}
		w.heard("Normal CertificateAuthorityRotation")
		if n := w.pass(); n != 0 {
			t.Errorf("%s: %d writes before the step has taken its time", step.name, n)
		}
		before = after
		w.clock.Step(DefaultStepDuration)
	}
	// kubelets have certificates of the old authority until they renew them.
	w.clock.Step(nodeCertificates)
	w.pass() // all other certificates are renewed
	w.clock.Step(DefaultStepDuration)
	w.pass()
	if n := w.trusted(names.ClusterSignerCA); n != 1 {
		t.Errorf("%d authorities for nodes are trusted when nothing is left of the old one", n)
	}
}

// Older operators issued node certificates for a year.
func TestCertificatesOfOldNodesStayTrustedForAYear(t *testing.T) {
	w := newTestEnv(t)
	w.facts.RolledOut = rolledOut
	w.pass()
	s := w.secret(names.ClusterSignerCA)
	delete(s.Data, "rotation") // as an older operator wrote it
	w.must(w.Admin().Update(t.Context(), s))
	w.pass()
	w.change(rotate)
	for range 3 {
		w.pass()
		w.clock.Step(DefaultStepDuration)
	}
	w.clock.Step(nodeCertificates)
	w.pass()
	w.clock.Step(DefaultStepDuration)
	if w.pass(); w.trusted(names.ClusterSignerCA) != 2 {
		t.Fatal("nodes that joined before the upgrade lose the API server")
	}
	w.clock.Step(legacyNodeCertificateRetention - nodeCertificates)
	w.pass()
	w.clock.Step(DefaultStepDuration)
	if w.pass(); w.trusted(names.ClusterSignerCA) != 1 {
		t.Error("the old authority is trusted for ever")
	}
}

// A certificate cannot be revoked.
func TestAdministratorCertificateHasShortValidity(t *testing.T) {
	for annotation, want := range map[string]time.Duration{"": adminValidity, "8760h": 8760 * time.Hour, "1h": time.Hour} {
		w := newTestEnv(t, annotated(hyperv1.CertificateValidityAnnotation, annotation))
		w.facts = reachable
		w.pass()
		leaf := w.ends()[names.AdminKubeconfig]
		certs, err := pki.ParseBundle(leaf.cert)
		w.must(err)
		if got := certs[0].NotAfter.Sub(w.clock.Now()).Round(time.Minute); got != want {
			t.Errorf("%q: good for %s, want %s", annotation, got, want)
		}
	}
}

func TestRotationWaitsForTheRollout(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	w.change(rotate)
	late := map[string]bool{names.EtcdSigner: true}
	w.facts.RolledOut = func(signer string) bool { return !late[signer] }
	w.pass()
	first := w.signing(names.EtcdSigner)
	w.clock.Step(time.Hour)
	w.pass()
	if !bytes.Equal(w.signing(names.EtcdSigner), first) {
		t.Error("the next authority signs before everybody trusts it")
	}
	if w.again > 2*DefaultStepDuration {
		t.Errorf("looks again only after %s", w.again)
	}
	late[names.EtcdSigner] = false
	w.clock.Step(DefaultStepDuration)
	w.pass()
	if bytes.Equal(w.signing(names.EtcdSigner), first) {
		t.Error("the next authority does not sign although everybody trusts it")
	}
}

// Programs in the cluster may have to be restarted by hand in between.
func TestAnnotationSetsTheDurationOfRotationSteps(t *testing.T) {
	for pause, want := range map[string]time.Duration{"2h": 2 * time.Hour, "20s": 20 * time.Second, "soon": DefaultStepDuration, "-1h": DefaultStepDuration} {
		w := newTestEnv(t, annotated(hyperv1.RotationPauseAnnotation, pause))
		w.facts.RolledOut = rolledOut
		w.pass()
		w.change(rotate)
		w.pass()
		first := w.signing(names.RootCA)
		w.clock.Step(want - time.Second)
		w.pass()
		if !bytes.Equal(w.signing(names.RootCA), first) {
			t.Errorf("%s: the next authority signs already", pause)
		}
		w.clock.Step(2 * time.Second)
		w.pass()
		if bytes.Equal(w.signing(names.RootCA), first) {
			t.Errorf("%s: the next authority does not sign yet", pause)
		}
	}
}

// An operator that dies between writing the authority and the trust bundles, and is away for long, has not distributed
// the new authority.
func TestStepDurationRestartsAfterACrash(t *testing.T) {
	w := newTestEnv(t)
	w.facts.RolledOut = rolledOut
	w.pass()
	w.change(rotate)
	old := w.secret(names.EtcdClientCertificate).Data
	w.pass()
	first := w.signing(names.EtcdSigner)
	w.spoil(names.EtcdClientCertificate, func(data map[string][]byte) { data["ca.crt"] = old["ca.crt"] })
	w.clock.Step(time.Hour)
	for range 2 {
		w.pass()
		if !bytes.Equal(w.signing(names.EtcdSigner), first) {
			t.Fatal("the next authority signs, and a client of etcd has just heard of it")
		}
	}
	w.clock.Step(DefaultStepDuration)
	w.pass()
	if bytes.Equal(w.signing(names.EtcdSigner), first) {
		t.Error("it never signs")
	}
}

func TestAuthoritiesNewerThanTheRequestAreKept(t *testing.T) {
	w := newTestEnv(t, rotate)
	w.facts.RolledOut = rolledOut
	w.pass()
	w.clock.Step(time.Hour)
	if n := w.pass(); n != 0 || w.trusted(names.RootCA) != 1 {
		t.Errorf("%d writes", n)
	}
}
