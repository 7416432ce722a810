package certificaterevocation

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	valid   = certificatesv1alpha1.SignerClassValid
	roots   = certificatesv1alpha1.RootCertificatesRegenerated
	trust   = certificatesv1alpha1.NewCertificatesTrusted
	leaves  = certificatesv1alpha1.LeafCertificatesRegenerated
	revoked = certificatesv1alpha1.PreviousCertificatesRevoked
)

// enough passes for every revocation.
const enough = 20

func TestLeakedCertificateIsRefusedAfterTheRevocation(t *testing.T) {
	e := newAPIServers(t)
	e.lag = map[string]int{first: 2, second: 5}
	leaked := e.client()
	e.Once()
	e.ExpectCondition(valid, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(roots, metav1.ConditionFalse, certificatesv1alpha1.RootCertificatesStaleReason, "waiting for the next certificate authority")
	crr := testenv.Read(e.Env, revocation("first"))
	if crr.Status.RevocationTimestamp == nil || crr.Status.PreviousSigner == nil {
		t.Fatalf("the status is %+v", crr.Status)
	}
	e.RunOthers()
	e.Once()
	e.ExpectCondition(roots, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(trust, metav1.ConditionFalse, hyperv1.WaitingForAvailableReason, "pod a does not accept certificates of the next authority yet")
	e.lag = map[string]int{second: 5}
	e.RunOthers()
	during := e.client()
	e.Once()
	e.ExpectCondition(trust, metav1.ConditionFalse, hyperv1.WaitingForAvailableReason, "pod b")
	if e.signer().Revoked(string(crr.UID)) || !e.verify(first, leaked) {
		t.Error("the next authority signs although one API server does not trust it")
	}
	e.Run(enough)
	for _, condition := range []string{valid, roots, trust, leaves, revoked} {
		e.ExpectCondition(condition, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	}
	for _, address := range []string{first, second} {
		if e.verify(address, leaked) || !e.verify(address, during) || !e.verify(address, e.client()) {
			t.Errorf("%s accepts the leaked certificate, or refuses a new one", address)
		}
	}
	if e.outage != "" {
		t.Error(e.outage)
	}
	if events := e.Events.Drain(); len(events) != 1 || !strings.Contains(events[0], "CertificatesRevoked") {
		t.Errorf("events: %q", events)
	}
}

// The revocation is complete only if each API server has refused a certificate itself.
func TestEveryAPIServerIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(*apiServers)
		repair  func(*apiServers)
		status  metav1.ConditionStatus
		message string
	}{
		"one keeps its bundle": {
			func(e *apiServers) { e.lag[second] = 1000 }, func(e *apiServers) { e.lag[second] = 0 },
			metav1.ConditionFalse, "pod b still accepts certificates of the previous authority",
		},
		"one cannot be reached": {
			func(e *apiServers) { e.unreachable[second] = true }, func(e *apiServers) { delete(e.unreachable, second) },
			metav1.ConditionUnknown, "pod b could not be checked: connection refused",
		},
		"one has no address": {
			func(e *apiServers) {
				pod := e.pod("c", "")
				e.Change(pod, func() { pod.Status.Phase = corev1.PodPending })
			},
			func(e *apiServers) { e.Delete(&corev1.Pod{ObjectMeta: testenv.In(namespace, "c")}) },
			metav1.ConditionUnknown, "pod c has no address yet",
		},
		"none runs": {
			func(e *apiServers) {
				e.Delete(&corev1.Pod{ObjectMeta: testenv.In(namespace, "a")}, &corev1.Pod{ObjectMeta: testenv.In(namespace, "b")})
			},
			func(e *apiServers) { e.pod("a", "10.0.0.1") },
			metav1.ConditionUnknown, "no pod of kube-apiserver runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newAPIServers(t)
			for range 10 {
				e.Run(1)
				if e.ConditionText(leaves) == "True AsExpected: All is well" {
					break
				}
				if e.ConditionText(trust) == "True AsExpected: All is well" {
					c.spoil(e)
				}
			}
			e.Run(enough)
			e.ExpectCondition(revoked, c.status, hyperv1.WaitingForAvailableReason, c.message)
			c.repair(e)
			e.Run(enough)
			e.ExpectCondition(revoked, metav1.ConditionTrue, hyperv1.AsExpectedReason)
		})
	}
}

// Pods that have ended, or have no node yet, serve nobody.
func TestPodsWithoutAServerDoNotHoldUpTheRevocation(t *testing.T) {
	e := newAPIServers(t)
	failed, pending := e.pod("failed", "10.0.0.3"), e.pod("pending", "")
	e.Change(failed, func() { failed.Status.Phase = corev1.PodFailed })
	e.Delete(pending)
	pending = &corev1.Pod{ObjectMeta: testenv.In(namespace, "pending")}
	pending.Labels = map[string]string{"app": names.KubeAPIServer}
	e.Create(pending)
	e.Run(enough)
	e.ExpectCondition(revoked, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestRevocationsRunOneAfterTheOther(t *testing.T) {
	e := newAPIServers(t)
	e.Run(1)
	during := e.signer().Next.Certificate
	another := revocation("another")
	another.CreationTimestamp = metav1.NewTime(e.Clock.Now())
	e.Create(another)
	e.Run(1)
	e.ExpectConditionOf(another, roots, metav1.ConditionFalse, certificatesv1alpha1.RootCertificatesStaleReason, "waiting for CertificateRevocationRequest first")
	e.Run(enough)
	for _, crr := range []*certificatesv1alpha1.CertificateRevocationRequest{revocation("first"), another} {
		e.ExpectConditionOf(crr, revoked, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	}
	if e.signer().Trusts(during) {
		t.Error("the second request has revoked nothing")
	}
	// The same name again is another request.
	signing := e.signer().Current.Certificate
	e.Delete(revocation("first"))
	e.Run(enough)
	if !e.signer().Current.Certificate.Equal(signing) {
		t.Error("a deleted request has revoked something")
	}
	again := revocation("first")
	e.Create(again)
	e.Run(enough)
	if e.signer().Trusts(signing) {
		t.Error("a request with the name of a deleted one has revoked nothing")
	}
}

func TestRequestsThatCannotRun(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*apiServers)
		condition string
		reason    string
		message   string
	}{
		"another class": {func(e *apiServers) {
			crr := revocation("first")
			e.Change(crr, func() { crr.Spec.SignerClass = "sre-break-glass" })
		}, valid, certificatesv1alpha1.SignerClassUnknownReason, `spec.signerClass "sre-break-glass" is unknown: create a request with customer-break-glass`},
		"the user brings the certificates": {func(e *apiServers) {
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
				hcp.Annotations = map[string]string{hyperv1.DisablePKIReconciliationAnnotation: "true"}
			})
		}, roots, certificatesv1alpha1.RootCertificatesStaleReason, "disable-pki-reconciliation stops the operator"},
		"the cluster is paused": {func(e *apiServers) {
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
		}, roots, hyperv1.PausedReason, "remove spec.pausedUntil"},
		"there is no authority": {func(e *apiServers) {
			e.Delete(&corev1.Secret{ObjectMeta: testenv.In(namespace, names.CustomerBreakGlassSigner)})
		}, roots, certificatesv1alpha1.RootCertificatesStaleReason, "waiting for Secret customer-system-admin-signer"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newAPIServers(t)
			c.change(e)
			e.Once()
			e.ExpectCondition(c.condition, metav1.ConditionFalse, c.reason, c.message)
			if crr := testenv.Read(e.Env, revocation("first")); crr.Status.PreviousSigner != nil {
				t.Errorf("the status is %+v", crr.Status)
			}
		})
	}
}

// Without the key of the previous authority no connection shows that its certificates are refused.
func TestRevocationThatCannotBeVerifiedIsNotComplete(t *testing.T) {
	e := newAPIServers(t)
	e.Run(2)
	e.Delete(&corev1.Secret{ObjectMeta: testenv.In(namespace, testenv.Read(e.Env, revocation("first")).Status.PreviousSigner.Name)})
	e.Run(enough)
	e.ExpectCondition(revoked, metav1.ConditionFalse, certificatesv1alpha1.PreviousSignerMissingReason, "delete this request and create another one")
}

// A status that is older than the revocation must not replace the previous authority by the next one, which nobody would refuse.
func TestPreviousAuthorityIsStoredOnce(t *testing.T) {
	e := newAPIServers(t)
	e.Run(3)
	crr := testenv.Read(e.Env, revocation("first"))
	stored := &corev1.Secret{ObjectMeta: testenv.In(namespace, crr.Status.PreviousSigner.Name)}
	before := testenv.Read(e.Env, stored.DeepCopy()).Data
	if !e.signer().Revoked(string(crr.UID)) {
		t.Fatal("the next authority does not sign yet")
	}
	crr.Status = certificatesv1alpha1.CertificateRevocationRequestStatus{}
	e.UpdateStatus(crr)
	e.Restart()
	e.Run(enough)
	if after := testenv.Read(e.Env, stored.DeepCopy()).Data; string(after[corev1.TLSCertKey]) != string(before[corev1.TLSCertKey]) {
		t.Error("the previous authority is replaced")
	}
	e.ExpectCondition(revoked, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

// A deleted request leaves a control plane in which everything goes on.
func TestRequestThatIsDeletedMidway(t *testing.T) {
	for passes := range 6 {
		e := newAPIServers(t)
		before := e.client()
		e.Run(passes)
		during := e.client()
		e.Delete(revocation("first"))
		e.Run(enough)
		if e.outage != "" || !e.verify(first, during) {
			t.Errorf("after %d passes: %s; a certificate of before is accepted: %v", passes, e.outage, e.verify(first, before))
		}
		list := testenv.Listed(e.Env, &corev1.SecretList{})
		if slices.ContainsFunc(list.Items, func(s corev1.Secret) bool { return strings.HasPrefix(s.Name, setPrevious) }) {
			t.Errorf("after %d passes: the key of the previous authority is left", passes)
		}
	}
}

// random matches texts that differ between runs.
var random = regexp.MustCompile(`(?m)(applied: [^\n]+|revocationTimestamp: [^\n]+|(tls\.(crt|key)|ca\.crt|kubeconfig|next\.(crt|key)|rotation|value|[a-z-]+\.(tls\.(crt|key)|ca\.crt|kubeconfig|rotation)): [^\n]+|\\?"of\\?":\\?"[^"]*"|since[^,]*,|retired[^,]*[,}])`)

func begin(t testing.TB) *crashtest.Scenario {
	e := newAPIServers(t)
	s := e.Scenario(valid, roots, trust, leaves, revoked)
	s.Mask = func(text string) string { return random.ReplaceAllString(text, "...") }
	s.Delete = func(ctx context.Context) error { // without the control plane, which owns the other Secrets
		return errors.Join(client.IgnoreNotFound(e.Admin().Delete(ctx, revocation("first"))), client.IgnoreNotFound(e.Admin().Delete(ctx, testenv.HostedControlPlane())))
	}
	s.Advance = func(time.Duration) { e.Clock.Step(time.Second) }
	t.Cleanup(func() {
		if e.outage != "" {
			t.Error(e.outage)
		}
	})
	return s
}

func TestCrashConsistency(t *testing.T) {
	crashtest.CrashConsistency(t, begin)
	t.Run("deletion", func(t *testing.T) { crashtest.NoLeaks(t, begin) })
	t.Run("under faults", func(t *testing.T) { crashtest.APIFaults(t, begin) })
}
