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
func (e *certificateAuthorities) validities() map[string]Validity {
	e.T.Helper()
	list, err := e.certs.Validities(e.T.Context(), e.HCP())
	e.Must(err)
	if !slices.IsSortedFunc(list, func(a, b Validity) int { return slices.Compare([]string{a.Secret}, []string{b.Secret}) }) {
		e.T.Errorf("not in order: %v", list)
	}
	found := map[string]Validity{}
	for _, v := range list {
		found[v.Secret] = v
	}
	return found
}

func TestValiditiesHaveEveryCertificate(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	hcp, found := e.HCP(), e.validities()
	var want []string
	for _, s := range e.table.signers {
		want = append(want, s.name)
	}
	for _, l := range e.table.leaves(hcp, e.facts) {
		want = append(want, l.secret)
	}
	for _, k := range e.table.kubeconfigs(hcp, e.facts) {
		if k.host != "" {
			want = append(want, k.secret)
		}
	}
	if len(want) < 20 || len(found) != len(want) {
		t.Errorf("%d certificates, want %d", len(found), len(want))
	}
	for _, secret := range want {
		v := found[secret]
		if !v.Renewal.After(e.Clock.Now()) || !v.Renewal.Before(v.Expires) {
			t.Errorf("%s is renewed at %s and expires at %s", secret, v.Renewal, v.Expires)
		}
	}
	if admin, server := found[names.AdminKubeconfig], found[names.APIServerCertificate]; admin.Expires.Sub(e.Clock.Now()).Round(time.Hour) != adminValidity || !server.Expires.After(admin.Expires) {
		t.Errorf("the administrator's certificate expires at %s, that of the API server at %s", admin.Expires, server.Expires)
	}
}

// A certificate is renewed when its Renewal has passed: otherwise an alert would fire for all clusters.
func TestCertificatesAreRenewedWhenTheirValiditySaysSo(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	before := e.validities()[names.AdminKubeconfig]
	e.Clock.SetTime(before.Renewal.Add(-time.Minute))
	e.Once()
	if got := e.validities()[names.AdminKubeconfig]; got != before {
		t.Errorf("it is renewed too early: %+v, before %+v", got, before)
	}
	if e.RequeueAfter > time.Minute+maxJitter {
		t.Errorf("the next reconcile is in %s", e.RequeueAfter)
	}
	e.Clock.SetTime(before.Renewal.Add(time.Minute))
	e.Once()
	if got := e.validities()[names.AdminKubeconfig]; !got.Expires.After(before.Expires) {
		t.Errorf("it is not renewed: %+v, before %+v", got, before)
	}
}

func TestCertificatesOfUsersAreNotRenewed(t *testing.T) {
	e := newCertificateAuthorities(t, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{}}
		hcp.Spec.Configuration.APIServer.ServingCerts.NamedCertificates = []configv1.APIServerNamedServingCert{
			{ServingCertificate: configv1.SecretNameReference{Name: "mine"}}, {ServingCertificate: configv1.SecretNameReference{Name: "missing"}},
		}
	})
	e.Once()
	mine := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}, Data: map[string][]byte{}}
	mine.Data[corev1.TLSCertKey] = e.secret(names.APIServerCertificate).Data[corev1.TLSCertKey]
	e.Must(e.Admin().Create(t.Context(), mine))
	if v, ok := e.validities()["mine"]; !ok || !v.Renewal.IsZero() || v.Expires.IsZero() {
		t.Errorf("the user's certificate: %+v, %v", v, ok)
	}
	mine.Data[corev1.TLSCertKey] = []byte("what is this?")
	e.Must(e.Admin().Update(t.Context(), mine))
	if v, ok := e.validities()["mine"]; ok {
		t.Errorf("a certificate that cannot be parsed: %+v", v)
	}
	e.Must(e.Admin().Delete(t.Context(), mine))
	if v, ok := e.validities()["mine"]; ok || e.certs.parsed.known["mine"].version != "" {
		t.Errorf("a certificate that was deleted: %+v", v)
	}

	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation] = yes
	})
	for secret, v := range e.validities() {
		if !v.Renewal.IsZero() {
			t.Errorf("nobody renews %s, and its renewal is %s", secret, v.Renewal)
		}
	}
}
