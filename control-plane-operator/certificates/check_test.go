package certificates

import (
	"errors"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestServiceNetworksWithoutRoomAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		cidrs []string
		says  string
	}{
		"none":                    {nil, "spec.networking.serviceNetwork is empty"},
		"four addresses":          {[]string{"172.31.0.0/30"}, "spec.networking.serviceNetwork[0]: 172.31.0.0/30 has 4 addresses, and the API server does not start with less than 8: choose a larger range"},
		"the second is too small": {[]string{"172.31.0.0/16", "fd02::/126"}, "spec.networking.serviceNetwork[1]: fd02::/126 has 4 addresses"},
		"no range":                {[]string{"172.31.0.0"}, `spec.networking.serviceNetwork[0]: "172.31.0.0" is not an address range`},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCertificateAuthorities(t, services(c.cidrs...))
			n, err := e.Attempt()
			var block *reconcile.Blocked
			if !errors.As(err, &block) || block.Reason != hyperv1.InvalidConfigurationReason || !strings.HasPrefix(block.Message, c.says) || n != 0 {
				t.Errorf("%d writes, %v", n, err)
			}
		})
	}
}

// users creates a user's certificate.
func users(t testing.TB, hosts ...string) *pki.Leaf {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	authority, err := pki.NewAuthority("their-own", at)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Issue(pki.Request{User: "theirs", Usage: pki.Server, Hosts: hosts}, pki.DefaultTerms, at)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func TestNamedCertificatesForOurNamesAreRejected(t *testing.T) {
	hcp := testenv.HostedControlPlane(withOwnName, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
			Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.demo.example.com"},
		}}}
	})
	for name, c := range map[string]struct {
		listed []string
		hosts  []string
		clash  string
	}{
		"a name of its own":                           {nil, []string{"k8s.example.com"}, ""},
		"a wildcard beside the name of the API":       {nil, []string{"*.example.com"}, ""},
		"the name under which nodes find the API":     {nil, []string{"k8s.example.com", "api.demo.example.com"}, "api.demo.example.com"},
		"a wildcard for it":                           {nil, []string{"*.demo.example.com"}, "api.demo.example.com"},
		"the name in the local zone":                  {nil, []string{"api.demo.hypershift.local"}, "api.demo.hypershift.local"},
		"a name within the hosted cluster":            {nil, []string{"kubernetes.default.svc"}, "kubernetes.default.svc"},
		"a name within the management cluster":        {nil, []string{"*.clusters-demo.svc"}, "kube-apiserver.clusters-demo.svc"},
		"it is listed for another name":               {[]string{"k8s.example.com"}, []string{"k8s.example.com", "kubernetes"}, ""},
		"it is listed for a name that it lacks, ours": {[]string{"kubernetes"}, []string{"k8s.example.com"}, "kubernetes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckNamedCertificate(hcp, c.listed, users(t, c.hosts...).CertPEM)
			if (err == nil) != (c.clash == "") || err != nil && !strings.HasPrefix(err.Error(), "it is for "+c.clash+", under which") {
				t.Errorf("says %v, want a clash over %q", err, c.clash)
			}
		})
	}
	if err := CheckNamedCertificate(hcp, nil, []byte("garbage")); err == nil {
		t.Error("garbage is taken for a certificate")
	}
	if err := CheckNamedCertificate(hcp, nil, nil); err != nil {
		t.Errorf("one that is not there yet: %v", err)
	}
}

// The user's certificate is not signed by our authority.
func TestKubeconfigsTrustTheUsersCertificate(t *testing.T) {
	theirs := users(t, "k8s.example.com")
	e := newCertificateAuthorities(t, withOwnName, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{ServingCerts: configv1.APIServerServingCerts{
			NamedCertificates: []configv1.APIServerNamedServingCert{{ServingCertificate: configv1.SecretNameReference{Name: "copied-theirs"}}},
		}}}
	})
	e.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copied-theirs"}, Data: theirs.Data(nil)})
	e.Once()
	ends := e.ends()
	server := end{cert: theirs.CertPEM, key: theirs.KeyPEM, trust: ends[names.APIServerCertificate].trust}
	if err := handshake(server, ends[names.CustomAdminKubeconfig], "k8s.example.com", e.Clock.Now()); err != nil {
		t.Error(err)
	}
	e.connect()
	if err := handshake(server, ends[names.SchedulerKubeconfig], "k8s.example.com", e.Clock.Now()); err == nil {
		t.Error("the control plane trusts a certificate that the user brought")
	}
}

func TestTermsOfAnnotations(t *testing.T) {
	for name, c := range map[string]struct {
		validity, renewal string
		want              pki.Terms
	}{
		"none":                     {"", "", pki.DefaultTerms},
		"three months, half of it": {"2160h", "0.5", pki.Terms{Validity: 2160 * time.Hour, Renewal: 0.5}},
		"no duration, no number":   {"3 months", "half", pki.DefaultTerms},
		"nothing and all of it":    {"0s", "1", pki.DefaultTerms},
		"less than nothing":        {"-1h", "-0.5", pki.DefaultTerms},
		"a second":                 {"1s", "", pki.Terms{Validity: time.Hour, Renewal: pki.DefaultTerms.Renewal}},
		"no number that compares":  {"1h", "NaN", pki.Terms{Validity: time.Hour, Renewal: pki.DefaultTerms.Renewal}},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := testenv.HostedControlPlane(annotated(hyperv1.CertificateValidityAnnotation, c.validity), annotated(hyperv1.CertificateRenewalAnnotation, c.renewal))
			if got := termsOf(hcp); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
