package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func services(cidrs ...string) func(*hyperv1.HostedControlPlane) {
	return func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Networking.ServiceNetwork = nil
		for _, cidr := range cidrs {
			hcp.Spec.Networking.ServiceNetwork = append(hcp.Spec.Networking.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: cidr})
		}
	}
}

func annotated(key, value string) func(*hyperv1.HostedControlPlane) {
	return func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations[key] = value }
}

// mostWrites is the limit of certificate writes during the creation of a control plane.
const mostWrites = 15

func TestSteadyStateHasNoWrites(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hyperv1.HostedControlPlane)
		facts  Facts
	}{
		"IPv4":                       {services("172.31.0.0/16"), reachable},
		"IPv4 and IPv6":              {services("172.31.0.0/16", "2001:db8::/112"), reachable},
		"IPv6":                       {services("2001:db8::/112"), reachable},
		"IPv6 of one's own":          {services("fd02::/112"), reachable},
		"a range with bits too many": {services("172.31.0.9/16"), reachable},
		"hosts in capitals":          {services("172.31.0.0/16"), Facts{API: target.Host{Name: "API.Example.COM.", Port: 443}}},
		"hosts that are addresses":   {services("172.31.0.0/16"), Facts{API: target.Host{Name: "2001:DB8:0::7", Port: 6443}, Konnectivity: target.Host{Name: "10.1.2.3"}}},
		"no hosts yet":               {services("172.31.0.0/16"), Facts{}},
		"certificates of an hour":    {annotated(hyperv1.CertificateValidityAnnotation, "1h"), reachable},
		"an early renewal":           {annotated(hyperv1.CertificateRenewalAnnotation, "0.9"), reachable},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCertificateAuthorities(t, c.change)
			e.facts = c.facts
			if n := e.Once(); n > mostWrites {
				t.Errorf("%d writes to make them", n)
			}
			e.Restart()
			if n := e.Once(); n != 0 {
				t.Errorf("%d writes at rest: %v", n, e.Calls.Log(0)[mostWrites:])
			}
		})
	}
}

func TestTheSchedulerHasCertificatesWhileItRuns(t *testing.T) {
	e := newCertificateAuthorities(t)
	for _, runs := range []bool{false, true, false} {
		e.facts.Scheduler = runs
		e.Once()
		for _, name := range []string{names.SchedulerCertificate, names.SchedulerKubeconfig} {
			if e.exists(name) != runs {
				t.Errorf("the scheduler runs: %t, and %s exists: %t", runs, name, !runs)
			}
		}
	}
}

func TestCertificatesGainNewHosts(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.facts = Facts{Scheduler: true}
	e.Once()
	if e.exists(names.AdminKubeconfig) {
		t.Error("there is a kubeconfig that leads nowhere")
	}
	if !e.exists(names.ControlPlaneOperatorKubeconfig) {
		t.Error("those within the management cluster wait for a load balancer")
	}
	before := e.versions()
	e.facts = reachable
	e.Once()
	changed := differing(before, e.versions())
	if want := []string{names.AdminKubeconfig, names.APIServerCertificate, names.KonnectivityCertificate}; !slices.Equal(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
}

func TestUsersNameOfTheAPIServerHasAKubeconfig(t *testing.T) {
	e := newCertificateAuthorities(t, withOwnName)
	e.Once()
	if text := string(e.secret(names.CustomAdminKubeconfig).Data[names.AdminKubeconfigFile]); !strings.Contains(text, "https://k8s.example.com:6443") {
		t.Errorf("leads elsewhere:\n%s", text)
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.KubeAPIServerDNSName = "" })
	e.Once()
	if e.exists(names.CustomAdminKubeconfig) {
		t.Error("the kubeconfig stays although nobody wants the name any more")
	}
}

func TestChangedCertificatesAreIssuedAgain(t *testing.T) {
	garbage := func(key string) func(map[string][]byte) {
		return func(data map[string][]byte) { data[key] = []byte("garbage") }
	}
	etcd := []string{names.EtcdClientCertificate, names.EtcdPeerCertificate, names.EtcdServerCertificate, names.EtcdSigner}
	cases := map[string]struct {
		secret  string
		spoil   func(map[string][]byte) // nil: the Secret is deleted
		changed []string
		event   string
	}{
		"a certificate that is deleted":           {secret: names.EtcdPeerCertificate, changed: []string{names.EtcdPeerCertificate}},
		"a certificate that is garbage":           {secret: names.EtcdPeerCertificate, spoil: garbage(corev1.TLSCertKey), changed: []string{names.EtcdPeerCertificate}},
		"a key that is garbage":                   {secret: names.EtcdPeerCertificate, spoil: garbage(corev1.TLSPrivateKeyKey), changed: []string{names.EtcdPeerCertificate}},
		"trust that is garbage":                   {secret: names.EtcdPeerCertificate, spoil: garbage("ca.crt"), changed: []string{names.EtcdPeerCertificate}},
		"a kubeconfig that is garbage":            {secret: names.AdminKubeconfig, spoil: garbage(names.AdminKubeconfigFile), changed: []string{names.AdminKubeconfig}},
		"a kubeconfig that is deleted":            {secret: "demo-x-kubeconfig", changed: []string{"demo-x-kubeconfig"}},
		"an authority that is deleted":            {secret: names.EtcdSigner, changed: etcd},
		"an authority that has lost its key":      {secret: names.EtcdSigner, spoil: garbage(corev1.TLSPrivateKeyKey), changed: etcd, event: "Warning CertificateAuthorityReplaced: the private key of etcd-signer in Secret "},
		"an authority without its certificates":   {secret: names.EtcdSigner, spoil: func(data map[string][]byte) { clear(data); data["note"] = []byte("!") }, changed: etcd, event: "Warning CertificateAuthorityReplaced"},
		"what others put into a Secret is theirs": {secret: names.EtcdSigner, spoil: garbage("note"), changed: nil},
	}
	for layout, prepare := range map[string]func(*certificateAuthorities){"shared Secrets": func(*certificateAuthorities) {}, "own Secrets": (*certificateAuthorities).earlier} {
		for name, c := range cases {
			t.Run(layout+": "+name, func(t *testing.T) {
				e := newCertificateAuthorities(t)
				prepare(e)
				e.Once()
				e.spoil(c.secret, c.spoil)
				before := e.versions()
				e.Once()
				if changed := differing(before, e.versions()); !slices.Equal(changed, c.changed) {
					t.Errorf("changed %v, want %v", changed, c.changed)
				}
				e.heard(c.event)
				if n := e.Once(); n != 0 {
					t.Errorf("%d writes at rest", n)
				}
			})
		}
	}
}

// An authority with a key has issued the current certificates. If a part of its Secret is lost the user is informed, and
// no certificate is replaced.
func TestAuthorityWithoutItsCertificateBlocks(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	whole := e.secret(names.RootCA).Data
	e.spoil(names.RootCA, func(data map[string][]byte) { delete(data, corev1.TLSCertKey) })
	n, err := e.Attempt()
	var block *reconcile.Blocked
	if !errors.As(err, &block) || block.Reason != hyperv1.CertificateAuthorityBrokenReason || n != 0 {
		t.Fatalf("%d writes, %v", n, err)
	}
	for _, words := range []string{"Secret certificate-authorities", "root-ca", "restore the certificate", "delete its keys root-ca.*"} {
		if !strings.Contains(block.Message, words) {
			t.Errorf("%q does not say %q", block.Message, words)
		}
	}
	e.spoil(names.RootCA, func(data map[string][]byte) { maps.Copy(data, whole) })
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes although the certificate is back", n)
	}
}

func TestForeignSecretIsNotOverwritten(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.RootCA}, Data: map[string][]byte{"mine": []byte("!")}})
	_, err := e.Attempt()
	if err == nil || !strings.Contains(err.Error(), `Secret "root-ca" exists and belongs to an unknown owner`) {
		t.Error(err)
	}
	if string(e.secret(names.RootCA).Data["mine"]) != "!" || e.exists(names.APIServerCertificate) {
		t.Error("the Secret is written, or what an authority has signed that is written nowhere")
	}
}

func TestCertificatesAreRenewed(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	for certificate, due := range map[string]time.Duration{names.CustomerBreakGlassCertificate: breakGlassTerms.Validity * 2 / 3, names.AdminKubeconfig: adminValidity * 2 / 3} {
		e := newCertificateAuthorities(t)
		e.Once()
		if certificate == names.AdminKubeconfig {
			e.Clock.Step(due - time.Hour)
			e.Once() // the other one is renewed more often
		} else if e.RequeueAfter < due || e.RequeueAfter > due*11/10 {
			t.Errorf("comes back after %s", e.RequeueAfter)
		}
		before := e.versions()
		e.Clock.Step(e.RequeueAfter)
		e.Once()
		if changed := differing(before, e.versions()); len(changed) != 1 || changed[0] != certificate {
			t.Errorf("after %s: changed %v", e.RequeueAfter, changed)
		}
	}
	before := e.versions()
	const nineMonths = 270 * 24 * time.Hour
	e.Clock.Step(nineMonths)
	e.Once()
	changed := differing(before, e.versions())
	for _, line := range signers {
		if slices.Contains(changed, line.name) {
			t.Errorf("authority %s is another", line.name)
		}
	}
	if len(changed) != len(before)-len(signers) {
		t.Errorf("changed %v", changed)
	}
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

func TestExpiredAuthorityIsReplaced(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	e.Clock.Step(11 * 365 * 24 * time.Hour)
	e.Once()
	e.heard("Warning CertificateAuthorityReplaced: the certificate authority root-ca in Secret certificate-authorities has expired")
	e.connect()
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

func TestUserProvidedCertificatesAreNotChanged(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	e.ChangeHCP(annotated(hyperv1.DisablePKIReconciliationAnnotation, "true"))
	e.spoil(names.EtcdSigner, nil)
	e.spoil(names.RootCA, func(data map[string][]byte) { clear(data) })
	e.facts = Facts{} // otherwise the administrator's kubeconfig would be pruned
	before := e.versions()
	if n := e.Once(); n != 0 || len(differing(before, e.versions())) > 0 {
		t.Errorf("%d writes: %v", n, e.Calls.Log(0))
	}
}

func TestStaleCacheDoesNotCreateASecondAuthority(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	e.Restart()
	e.certs.Client = blind{e.Client()}
	before := e.versions()
	_, changed, err := e.certs.Ensure(t.Context(), e.HCP(), e.facts)
	e.Must(err)
	if len(differing(before, e.versions())) > 0 {
		t.Errorf("changed %v", differing(before, e.versions()))
	}
	if !changed {
		t.Error("pods would begin with what the cache has")
	}
}

// blind is an empty cache.
type blind struct{ client.Client }

func (blind) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestKubeadminPasswordIsGeneratedOnce(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.facts.KubeadminPassword = true
	e.Once()
	first := e.secret(names.KubeadminPassword).Data[names.KubeadminPasswordFile]
	if groups := strings.Split(string(first), "-"); len(first) != 23 || len(groups) != 4 || len(groups[0]) != 5 {
		t.Errorf("%d characters in %d groups", len(first), len(groups))
	}
	e.Clock.Step(e.RequeueAfter)
	e.Once()
	if string(e.secret(names.KubeadminPassword).Data[names.KubeadminPasswordFile]) != string(first) {
		t.Error("it changes")
	}
	e.facts.KubeadminPassword = false
	e.Once()
	if e.exists(names.KubeadminPassword) {
		t.Error("it stays although there is no OAuth server")
	}
}

// versions returns the content of all certificates and other Secrets.
func (e *certificateAuthorities) versions() map[string]string {
	e.T.Helper()
	out := map[string]string{}
	for name, s := range e.secrets() {
		out[name] = fmt.Sprintf("%q", s.Data)
	}
	return out
}

func differing(before, after map[string]string) []string {
	var out []string
	for name, version := range after {
		if before[name] != version {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// heard expects an event with this prefix, or no event if it is empty.
func (e *certificateAuthorities) heard(want string) {
	e.T.Helper()
	all := e.Events.Drain()
	if want == "" && len(all) > 0 || want != "" && !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, want) }) {
		e.T.Errorf("heard %q, want %q", all, want)
	}
}

// The certificate of metrics-server is written only for clusters that run it.
func TestMetricsServerHasACertificateOfTheRoot(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	if e.exists(names.MetricsServerCertificate) {
		t.Error("a cluster without nodes has a certificate of metrics-server")
	}
	e.facts.MetricsServer = true
	e.Once()
	data := e.secret(names.MetricsServerCertificate).Data
	certs, err := pki.ParseBundle(data[corev1.TLSCertKey])
	e.Must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(data[pki.TrustKey])
	for host, want := range map[string]bool{"metrics-server.kube-system.svc": true, "kubernetes.default.svc": false} {
		_, err := certs[0].Verify(x509.VerifyOptions{DNSName: host, Roots: trusted, CurrentTime: e.Clock.Now()})
		if (err == nil) != want {
			t.Errorf("it passes for %s: %v", host, err)
		}
	}
	e.facts.MetricsServer = false
	e.Once()
	if e.exists(names.MetricsServerCertificate) {
		t.Error("the certificate is kept without metrics-server")
	}
}

// A control plane of an earlier version keeps its Secrets: to mount others, all of its pods would have to restart. It keeps its
// authorities, too.
func TestControlPlanesOfEarlierVersionsKeepTheirSecrets(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.earlier()
	root := e.secret(names.RootCA).Data[corev1.TLSCertKey]
	e.Once()
	if got := e.secret(names.RootCA).Data[corev1.TLSCertKey]; !bytes.Equal(got, root) {
		t.Error("it has another authority")
	}
	for _, name := range []string{names.RootCA, names.EtcdSigner, names.APIServerCertificate, names.SchedulerKubeconfig} {
		e.Must(e.Admin().Get(t.Context(), keyOf(name), &corev1.Secret{}))
	}
	for _, name := range sharedSecrets {
		if err := e.Admin().Get(t.Context(), keyOf(name), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("it has Secret %s: %v", name, err)
		}
	}
	e.connect()
	e.Restart()
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

// A pod mounts only Secrets of its own program, and no pod the authorities.
func TestSharedSecretsAreOfOneProgram(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	list := &corev1.SecretList{}
	e.Must(e.Admin().List(t.Context(), list))
	got := map[string][]string{}
	for _, s := range list.Items {
		for key := range s.Data {
			name, _, _ := strings.Cut(key, ".")
			if slices.Contains(sharedSecrets, s.Name) && !slices.Contains(got[s.Name], name) {
				got[s.Name] = append(got[s.Name], name)
			}
		}
		slices.Sort(got[s.Name])
	}
	want := map[string][]string{
		"certificate-authorities":              {"aggregator-client-signer", "etcd-signer", "konnectivity-signer", "kubelet-client-signer", "root-ca"},
		"kube-apiserver-certificates":          {"kas-aggregator-client-tls", "kas-kubelet-client-tls", "kas-server-crt", "kas-server-private-crt", "konnectivity-cluster-tls"},
		"etcd-certificates":                    {"etcd-peer-tls", "etcd-server-tls"},
		"kube-controller-manager-certificates": {"kcm-server-tls", "kube-controller-manager-kubeconfig"},
		"kube-scheduler-certificates":          {"kube-scheduler-kubeconfig", "scheduler-server-tls"},
		"control-plane-operator-certificates":  {"control-plane-operator-kubeconfig", "konnectivity-agent-tls"},
	}
	maps.DeleteFunc(got, func(_ string, parts []string) bool { return len(parts) == 0 })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
