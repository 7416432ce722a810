package certificates

import (
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// validities returns the control plane's certificate validities by Secret.
func (w *testEnv) validities() map[string]Validity {
	w.t.Helper()
	list, err := w.certs.Validities(w.t.Context(), w.hcp(w.t.Context()))
	w.must(err)
	if !slices.IsSortedFunc(list, func(a, b Validity) int { return slices.Compare([]string{a.Secret}, []string{b.Secret}) }) {
		w.t.Errorf("not in order: %v", list)
	}
	found := map[string]Validity{}
	for _, v := range list {
		found[v.Secret] = v
	}
	return found
}

func TestValiditiesHaveEveryCertificate(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	hcp, found := w.hcp(t.Context()), w.validities()
	var want []string
	for _, s := range w.table.signers {
		want = append(want, s.name)
	}
	for _, l := range w.table.leaves(hcp, w.facts) {
		want = append(want, l.secret)
	}
	for _, k := range w.table.kubeconfigs(hcp, w.facts) {
		if k.host != "" {
			want = append(want, k.secret)
		}
	}
	if len(want) < 20 || len(found) != len(want) {
		t.Errorf("%d certificates, want %d", len(found), len(want))
	}
	for _, secret := range want {
		v := found[secret]
		if !v.Renewal.After(w.clock.Now()) || !v.Renewal.Before(v.Expires) {
			t.Errorf("%s is renewed at %s and expires at %s", secret, v.Renewal, v.Expires)
		}
	}
	if admin, server := found[names.AdminKubeconfig], found[names.APIServerCertificate]; admin.Expires.Sub(w.clock.Now()).Round(time.Hour) != adminValidity || !server.Expires.After(admin.Expires) {
		t.Errorf("the administrator's certificate expires at %s, that of the API server at %s", admin.Expires, server.Expires)
	}
}

// A certificate is renewed when its Renewal has passed: otherwise an alert would fire for all clusters.
func TestCertificatesAreRenewedWhenTheirValiditySaysSo(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	before := w.validities()[names.AdminKubeconfig]
	w.clock.SetTime(before.Renewal.Add(-time.Minute))
	w.pass()
	if got := w.validities()[names.AdminKubeconfig]; got != before {
		t.Errorf("it is renewed too early: %+v, before %+v", got, before)
	}
	if w.again > time.Minute+maxJitter {
		t.Errorf("the next reconcile is in %s", w.again)
	}
	w.clock.SetTime(before.Renewal.Add(time.Minute))
	w.pass()
	if got := w.validities()[names.AdminKubeconfig]; !got.Expires.After(before.Expires) {
		t.Errorf("it is not renewed: %+v, before %+v", got, before)
	}
}

func TestCertificatesOfUsersAreNotRenewed(t *testing.T) {
	w := newTestEnv(t, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{}}
		hcp.Spec.Configuration.APIServer.ServingCerts.NamedCertificates = []configv1.APIServerNamedServingCert{
			{ServingCertificate: configv1.SecretNameReference{Name: "mine"}}, {ServingCertificate: configv1.SecretNameReference{Name: "missing"}},
		}
	})
	w.pass()
	mine := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}, Data: map[string][]byte{}}
	mine.Data[corev1.TLSCertKey] = w.secret(names.APIServerCertificate).Data[corev1.TLSCertKey]
	w.must(w.Admin().Create(t.Context(), mine))
	if v, ok := w.validities()["mine"]; !ok || !v.Renewal.IsZero() || v.Expires.IsZero() {
		t.Errorf("the user's certificate: %+v, %v", v, ok)
	}
	mine.Data[corev1.TLSCertKey] = []byte("what is this?")
	w.must(w.Admin().Update(t.Context(), mine))
	if v, ok := w.validities()["mine"]; ok {
		t.Errorf("a certificate that cannot be parsed: %+v", v)
	}
	w.must(w.Admin().Delete(t.Context(), mine))
	if v, ok := w.validities()["mine"]; ok || w.certs.parsed.known["mine"].version != "" {
		t.Errorf("a certificate that was deleted: %+v", v)
	}

	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation] = yes
	})
	for secret, v := range w.validities() {
		if !v.Renewal.IsZero() {
			t.Errorf("nobody renews %s, and its renewal is %s", secret, v.Renewal)
		}
	}
}
