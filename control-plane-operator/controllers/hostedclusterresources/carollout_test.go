package hostedclusterresources

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

func TestNextAuthoritiesWaitForNodes(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	w.join("fast", "slow") // this test has no tunnels
	w.publish()
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, succeeded)

	// Pods on nodes read the trusted authorities once. They restart once they would read both.
	w.setTurn(names.RootCA, pki.Introduced)
	proxies := w.proxies()
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, "False NodesBehind: waiting until kube-controller-manager publishes the next certificate authorities to pods")
	if w.proxies() != proxies {
		t.Error("kube-proxy is started again, and reads what it has read before")
	}
	w.publish()
	w.reconcileOnce()
	if w.proxies() == proxies {
		t.Error("nobody starts kube-proxy again")
	}
	w.expectCondition(resourcesCondition, "False NodesBehind: waiting for nodes fast, slow to adopt the next certificate authorities")
	w.takeOver("fast")
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, "False NodesBehind: waiting for nodes slow to adopt the next certificate authorities")
	w.expectEvent("")
	w.clock.Step(15 * time.Minute)
	w.reconcileOnce()
	w.reconcileOnce()
	w.expectEvent("Warning NodesHoldUpRotation nodes slow have not adopted the next certificate authorities, which wait for them for 24 hours")
	w.takeOver("slow")
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, succeeded)

	// The old authority is still trusted: nodes need no change.
	revision := w.authorities()[names.AuthoritiesRevision]
	w.setTurn(names.RootCA, pki.Switched)
	w.publish()
	w.reconcileOnce()
	if got := w.authorities()[names.AuthoritiesRevision]; got != revision {
		t.Error("nodes have to take over the same authorities once more")
	}
	// Nodes with both authorities trust all servers, so there is no hurry.
	w.setTurn(names.RootCA, pki.Finished)
	w.publish()
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, succeeded)
	if certs, err := pki.ParseBundle([]byte(w.authorities()[names.ServerAuthorities])); err != nil || len(certs) != 1 {
		t.Errorf("nodes still trust %d authorities (%v)", len(certs), err)
	}
	w.expectEvent("")
}

// The node may be off, or of an older release. The event names it.
func TestNodeThatNeverFollowsIsLeftBehind(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	w.join("dead")
	w.setTurn(names.KubeletClientSigner, pki.Introduced)
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, "False NodesBehind: waiting for nodes dead to adopt the next certificate authorities")
	w.clock.Step(24*time.Hour - time.Second)
	w.reconcileOnce()
	w.expectEvent("Warning NodesHoldUpRotation ")
	w.clock.Step(time.Second)
	w.reconcileOnce()
	w.expectCondition(resourcesCondition, succeeded)
	w.expectEvent("Warning NodesLeftBehind the next certificate authorities sign although nodes dead have not adopted them within 24 hours")
	w.clock.Step(interval)
	w.reconcileOnce()
	w.expectEvent("")
}

// Nodes accept only authorities that are signed by the API server's authority.
func TestNodeAuthoritiesAreSigned(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	if got := w.authorities(); got[names.AuthoritiesSignature] != "" {
		t.Errorf("signed without a key: %v", got)
	}
	verify := func(when string) (serial string) {
		t.Helper()
		s := secret(names.RootCA, "", nil)
		w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(s), s))
		signer, err := pki.DecodeSigner(s.Data)
		w.must(err)
		data := w.authorities()
		signature, err := base64.StdEncoding.DecodeString(data[names.AuthoritiesSignature])
		w.must(err)
		digest := sha256.Sum256([]byte(names.SignedAuthorities(data)))
		if !ecdsa.VerifyASN1(signer.Current.Certificate.PublicKey.(*ecdsa.PublicKey), digest[:], signature) {
			t.Errorf("%s: the signature is not that of the authority that signs", when)
		}
		return data[names.AuthoritiesSerial]
	}
	w.setTurn(names.RootCA, pki.Introduced)
	w.reconcileOnce()
	first := verify("introduced")
	writes := w.Calls.Writes()
	w.reconcileLater()
	if got := w.Calls.Log(writes); len(got) > 0 {
		t.Errorf("the same text is signed again and again: %v", got)
	}
	w.clock.Step(time.Minute)
	w.setTurn(names.KubeletClientSigner, pki.Introduced)
	w.reconcileOnce()
	if second := verify("another authority of clients"); second <= first {
		t.Errorf("serial %s comes after %s", second, first)
	}
	w.setTurn(names.RootCA, pki.Switched)
	w.reconcileOnce()
	verify("switched")
}

// publish simulates kube-controller-manager.
func (w *testEnv) publish() {
	w.t.Helper()
	admin := secret(names.ControlPlaneOperatorKubeconfig, "", nil)
	w.must(w.Admin().Get(w.t.Context(), client.ObjectKeyFromObject(admin), admin))
	config, err := kubeconfig.Config(admin.Data[names.AdminKubeconfigFile])
	w.must(err)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-root-ca.crt"}}
	w.must(client.IgnoreNotFound(w.hosted.Admin().Delete(w.t.Context(), cm)))
	cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-root-ca.crt"}, Data: map[string]string{pki.TrustKey: string(config.CAData)}}
	w.must(w.hosted.Admin().Create(w.t.Context(), cm))
}

// proxies returns the trusted authorities of the kube-proxy pods.
func (w *testEnv) proxies() string {
	w.t.Helper()
	ds := &appsv1.DaemonSet{}
	if !w.inside("kube-system", "kube-proxy", ds) {
		w.t.Fatal("there is no kube-proxy")
	}
	return ds.Spec.Template.Annotations["hypershift.openshift.io/contents"]
}

// join creates nodes without an annotation.
func (w *testEnv) join(nodes ...string) {
	w.t.Helper()
	for _, name := range nodes {
		w.must(w.hosted.Admin().Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
}

// takeOver simulates the timer of a node.
func (w *testEnv) takeOver(name string) {
	w.t.Helper()
	node := &corev1.Node{}
	w.must(w.hosted.Admin().Get(w.t.Context(), client.ObjectKey{Name: name}, node))
	node.Annotations = map[string]string{names.AuthoritiesAnnotation: w.authorities()[names.AuthoritiesRevision]}
	w.must(w.hosted.Admin().Update(w.t.Context(), node))
}

// authorities returns the published authorities for nodes.
func (w *testEnv) authorities() map[string]string {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	if !w.inside("kube-public", names.NodeAuthorities, cm) {
		w.t.Fatal("nodes get no authorities")
	}
	return cm.Data
}

// setTurn takes a step of a rotation as the components controller does.
func (w *testEnv) setTurn(name string, want pki.Turn) {
	w.t.Helper()
	s := secret(name, corev1.SecretTypeOpaque, nil)
	signer, err := pki.NewSigner(name, "", w.clock.Now())
	w.must(err)
	if err := w.Admin().Get(w.t.Context(), client.ObjectKeyFromObject(s), s); err == nil {
		signer, err = pki.DecodeSigner(s.Data)
		w.must(err)
	} else {
		w.Create(w.t, s)
	}
	got, err := signer.Advance(name, "2026", true, pki.Timing{}, w.clock.Now())
	w.must(err)
	if got != want {
		w.t.Fatalf("the rotation comes to %q, want %q", got, want)
	}
	s.Data, err = signer.Data()
	w.must(err)
	w.must(w.Admin().Update(w.t.Context(), s))
	if name == names.KubeletClientSigner {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeletClientCA}, Data: map[string]string{pki.TrustKey: string(signer.Trust())}}
		w.must(w.Admin().Update(w.t.Context(), cm))
		return
	}
	w.must(w.Admin().Update(w.t.Context(), w.kubeconfig(w.leaf(), signer.Trust())))
}

func (w *testEnv) expectEvent(want string) {
	w.t.Helper()
	var all []string
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	if want == "" && len(all) > 0 || want != "" && (len(all) != 1 || !strings.HasPrefix(all[0], want)) {
		w.t.Errorf("recorded %q, want %q", all, want)
	}
}
