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
const mostWrites = 13

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
			w := newTestEnv(t, c.change)
			w.facts = c.facts
			if n := w.pass(); n > mostWrites {
				t.Errorf("%d writes to make them", n)
			}
			w.restart()
			if n := w.pass(); n != 0 {
				t.Errorf("%d writes at rest: %v", n, w.Calls.Log(0)[mostWrites:])
			}
		})
	}
}

func TestCertificatesGainNewHosts(t *testing.T) {
	w := newTestEnv(t)
	w.facts = Facts{}
	w.pass()
	if w.exists(names.AdminKubeconfig) {
		t.Error("there is a kubeconfig that leads nowhere")
	}
	if !w.exists(names.ControlPlaneOperatorKubeconfig) {
		t.Error("those within the management cluster wait for a load balancer")
	}
	before := w.versions()
	w.facts = reachable
	w.pass()
	changed := differing(before, w.versions())
	if want := []string{names.AdminKubeconfig, names.APIServerCertificate, names.KonnectivityCertificate}; !slices.Equal(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
}

func TestUsersNameOfTheAPIServerHasAKubeconfig(t *testing.T) {
	w := newTestEnv(t, withOwnName)
	w.pass()
	if text := string(w.secret(names.CustomAdminKubeconfig).Data[names.AdminKubeconfigFile]); !strings.Contains(text, "https://k8s.example.com:6443") {
		t.Errorf("leads elsewhere:\n%s", text)
	}
	w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.KubeAPIServerDNSName = "" })
	w.pass()
	if w.exists(names.CustomAdminKubeconfig) {
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
		"an authority that has lost its key":      {secret: names.EtcdSigner, spoil: garbage(corev1.TLSPrivateKeyKey), changed: etcd, event: "Warning CertificateAuthorityReplaced the private key of etcd-signer in Secret "},
		"an authority without its certificates":   {secret: names.EtcdSigner, spoil: func(data map[string][]byte) { clear(data); data["note"] = []byte("!") }, changed: etcd, event: "Warning CertificateAuthorityReplaced"},
		"what others put into a Secret is theirs": {secret: names.EtcdSigner, spoil: garbage("note"), changed: nil},
	}
	for layout, prepare := range map[string]func(*testEnv){"shared Secrets": func(*testEnv) {}, "own Secrets": (*testEnv).earlier} {
		for name, c := range cases {
			t.Run(layout+": "+name, func(t *testing.T) {
				w := newTestEnv(t)
				prepare(w)
				w.pass()
				w.spoil(c.secret, c.spoil)
				before := w.versions()
				w.pass()
				if changed := differing(before, w.versions()); !slices.Equal(changed, c.changed) {
					t.Errorf("changed %v, want %v", changed, c.changed)
				}
				w.heard(c.event)
				if n := w.pass(); n != 0 {
					t.Errorf("%d writes at rest", n)
				}
			})
		}
	}
}

// An authority with a key has issued the current certificates. If a part of its Secret is lost the user is informed, and
// no certificate is replaced.
func TestAuthorityWithoutItsCertificateBlocks(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	whole := w.secret(names.RootCA).Data
	w.spoil(names.RootCA, func(data map[string][]byte) { delete(data, corev1.TLSCertKey) })
	n, err := w.try(t.Context())
	var block *reconcile.Blocked
	if !errors.As(err, &block) || block.Reason != hyperv1.CertificateAuthorityBrokenReason || n != 0 {
		t.Fatalf("%d writes, %v", n, err)
	}
	for _, words := range []string{"Secret certificate-authorities", "root-ca", "restore the certificate", "delete its keys root-ca.*"} {
		if !strings.Contains(block.Message, words) {
			t.Errorf("%q does not say %q", block.Message, words)
		}
	}
	w.spoil(names.RootCA, func(data map[string][]byte) { maps.Copy(data, whole) })
	if n := w.pass(); n != 0 {
		t.Errorf("%d writes although the certificate is back", n)
	}
}

func TestForeignSecretIsNotOverwritten(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.RootCA}, Data: map[string][]byte{"mine": []byte("!")}})
	_, err := w.try(t.Context())
	if err == nil || !strings.Contains(err.Error(), `Secret "root-ca" exists and belongs to an unknown owner`) {
		t.Error(err)
	}
	if string(w.secret(names.RootCA).Data["mine"]) != "!" || w.exists(names.APIServerCertificate) {
		t.Error("the Secret is written, or what an authority has signed that is written nowhere")
	}
}

func TestCertificatesAreRenewed(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	if due := adminValidity * 2 / 3; w.again < due || w.again > due*11/10 {
		t.Errorf("comes back after %s", w.again)
	}
	before := w.versions()
	w.clock.Step(w.again)
	w.pass()
	changed := differing(before, w.versions())
	if len(changed) != 1 || changed[0] != names.AdminKubeconfig {
		t.Errorf("after %s: changed %v", w.again, changed)
	}
	before = w.versions()
	const eightMonths = 243 * 24 * time.Hour
	w.clock.Step(eightMonths)
	w.pass()
	changed = differing(before, w.versions())
	for _, line := range signers {
		if slices.Contains(changed, line.name) {
			t.Errorf("authority %s is another", line.name)
		}
	}
	if len(changed) != len(before)-len(signers) {
		t.Errorf("changed %v", changed)
	}
	if n := w.pass(); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

func TestExpiredAuthorityIsReplaced(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	w.clock.Step(11 * 365 * 24 * time.Hour)
	w.pass()
	w.heard("Warning CertificateAuthorityReplaced the certificate authority root-ca in Secret certificate-authorities has expired")
	w.connect()
	if n := w.pass(); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

func TestUserProvidedCertificatesAreNotChanged(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	w.change(annotated(hyperv1.DisablePKIReconciliationAnnotation, "true"))
	w.spoil(names.EtcdSigner, nil)
	w.spoil(names.RootCA, func(data map[string][]byte) { clear(data) })
	w.facts = Facts{} // otherwise the administrator's kubeconfig would be pruned
	before := w.versions()
	if n := w.pass(); n != 0 || len(differing(before, w.versions())) > 0 {
		t.Errorf("%d writes: %v", n, w.Calls.Log(0))
	}
}

func TestStaleCacheDoesNotCreateASecondAuthority(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	w.restart()
	w.certs.Client = blind{w.Client()}
	before := w.versions()
	_, changed, err := w.certs.Ensure(t.Context(), w.hcp(t.Context()), w.facts)
	w.must(err)
	if len(differing(before, w.versions())) > 0 {
		t.Errorf("changed %v", differing(before, w.versions()))
	}
	if !changed {
		t.Error("pods would begin with what the cache has")
	}
}

// blind is an empty cache.
type blind struct{ client.Client }

func (blind) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestKubeadminPasswordIsGeneratedOnce(t *testing.T) {
	w := newTestEnv(t)
	w.facts.KubeadminPassword = true
	w.pass()
	first := w.secret(names.KubeadminPassword).Data[names.KubeadminPasswordFile]
	if groups := strings.Split(string(first), "-"); len(first) != 23 || len(groups) != 4 || len(groups[0]) != 5 {
		t.Errorf("%d characters in %d groups", len(first), len(groups))
	}
	w.clock.Step(w.again)
	w.pass()
	if string(w.secret(names.KubeadminPassword).Data[names.KubeadminPasswordFile]) != string(first) {
		t.Error("it changes")
	}
	w.facts.KubeadminPassword = false
	w.pass()
	if w.exists(names.KubeadminPassword) {
		t.Error("it stays although there is no OAuth server")
	}
}

// versions returns the content of all certificates and other Secrets.
func (w *testEnv) versions() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for name, s := range w.secrets() {
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
func (w *testEnv) heard(want string) {
	w.t.Helper()
	var all []string
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	if want == "" && len(all) > 0 || want != "" && !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, want) }) {
		w.t.Errorf("heard %q, want %q", all, want)
	}
}

// The certificate of metrics-server is written only for clusters that run it.
func TestMetricsServerHasACertificateOfTheRoot(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	if w.exists(names.MetricsServerCertificate) {
		t.Error("a cluster without nodes has a certificate of metrics-server")
	}
	w.facts.MetricsServer = true
	w.pass()
	data := w.secret(names.MetricsServerCertificate).Data
	certs, err := pki.ParseBundle(data[corev1.TLSCertKey])
	w.must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(data[pki.TrustKey])
	for host, want := range map[string]bool{"metrics-server.kube-system.svc": true, "kubernetes.default.svc": false} {
		_, err := certs[0].Verify(x509.VerifyOptions{DNSName: host, Roots: trusted, CurrentTime: w.clock.Now()})
		if (err == nil) != want {
			t.Errorf("it passes for %s: %v", host, err)
		}
	}
	w.facts.MetricsServer = false
	w.pass()
	if w.exists(names.MetricsServerCertificate) {
		t.Error("the certificate is kept without metrics-server")
	}
}

// A control plane of an earlier version keeps its Secrets: to mount others, all of its pods would have to restart. It keeps its
// authorities, too.
func TestControlPlanesOfEarlierVersionsKeepTheirSecrets(t *testing.T) {
	w := newTestEnv(t)
	w.earlier()
	root := w.secret(names.RootCA).Data[corev1.TLSCertKey]
	w.pass()
	if got := w.secret(names.RootCA).Data[corev1.TLSCertKey]; !bytes.Equal(got, root) {
		t.Error("it has another authority")
	}
	for _, name := range []string{names.RootCA, names.EtcdSigner, names.APIServerCertificate, names.SchedulerKubeconfig} {
		w.must(w.Admin().Get(t.Context(), keyOf(name), &corev1.Secret{}))
	}
	for _, name := range sharedSecrets {
		if err := w.Admin().Get(t.Context(), keyOf(name), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("it has Secret %s: %v", name, err)
		}
	}
	w.connect()
	w.restart()
	if n := w.pass(); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

// A pod mounts only Secrets of its own program, and no pod the authorities.
func TestSharedSecretsAreOfOneProgram(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	list := &corev1.SecretList{}
	w.must(w.Admin().List(t.Context(), list))
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
