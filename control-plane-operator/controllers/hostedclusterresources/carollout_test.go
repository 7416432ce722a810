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
	e := newHostedCluster(t)
	e.reconcileAll()
	e.join("fast", "slow") // this test has no tunnels
	e.publish()
	e.Once()
	e.ExpectConditionText(resourcesCondition, succeeded)

	// Pods on nodes read the trusted authorities once. They restart once they would read both.
	e.setTurn(names.RootCA, pki.Introduced)
	proxies := e.proxies()
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False NodesBehind: waiting until kube-controller-manager publishes the next certificate authorities to pods")
	if e.proxies() != proxies {
		t.Error("kube-proxy is started again, and reads what it has read before")
	}
	e.publish()
	e.Once()
	if e.proxies() == proxies {
		t.Error("nobody starts kube-proxy again")
	}
	e.ExpectConditionText(resourcesCondition, "False NodesBehind: waiting for nodes fast, slow to adopt the next certificate authorities")
	e.takeOver("fast")
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False NodesBehind: waiting for nodes slow to adopt the next certificate authorities")
	e.expectEvent("")
	e.Clock.Step(15 * time.Minute)
	e.Once()
	e.Once()
	e.expectEvent("Warning NodesHoldUpRotation: nodes slow have not adopted the next certificate authorities, which wait for them for 24 hours")
	e.takeOver("slow")
	e.Once()
	e.ExpectConditionText(resourcesCondition, succeeded)

	// The old authority is still trusted: nodes need no change.
	revision := e.authorities()[names.AuthoritiesRevision]
	e.setTurn(names.RootCA, pki.Switched)
	e.publish()
	e.Once()
	if got := e.authorities()[names.AuthoritiesRevision]; got != revision {
		t.Error("nodes have to take over the same authorities once more")
	}
	// Nodes with both authorities trust all servers, so there is no hurry.
	e.setTurn(names.RootCA, pki.Finished)
	e.publish()
	e.Once()
	e.ExpectConditionText(resourcesCondition, succeeded)
	if certs, err := pki.ParseBundle([]byte(e.authorities()[names.ServerAuthorities])); err != nil || len(certs) != 1 {
		t.Errorf("nodes still trust %d authorities (%v)", len(certs), err)
	}
	e.expectEvent("")
}

// The node may be off, or of an older release. The event names it.
func TestNodeThatNeverFollowsIsLeftBehind(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.join("dead")
	e.setTurn(names.KubeletClientSigner, pki.Introduced)
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False NodesBehind: waiting for nodes dead to adopt the next certificate authorities")
	e.Clock.Step(24*time.Hour - time.Second)
	e.Once()
	e.expectEvent("Warning NodesHoldUpRotation: ")
	e.Clock.Step(time.Second)
	e.Once()
	e.ExpectConditionText(resourcesCondition, succeeded)
	e.expectEvent("Warning NodesLeftBehind: the next certificate authorities sign although nodes dead have not adopted them within 24 hours")
	e.Clock.Step(interval)
	e.Once()
	e.expectEvent("")
}

// Nodes accept only authorities that are signed by the API server's authority.
func TestNodeAuthoritiesAreSigned(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	if got := e.authorities(); got[names.AuthoritiesSignature] != "" {
		t.Errorf("signed without a key: %v", got)
	}
	verify := func(when string) (serial string) {
		t.Helper()
		s := secret(names.RootCA, "", nil)
		e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(s), s))
		signer, err := pki.DecodeSigner(s.Data)
		e.Must(err)
		data := e.authorities()
		signature, err := base64.StdEncoding.DecodeString(data[names.AuthoritiesSignature])
		e.Must(err)
		digest := sha256.Sum256([]byte(names.SignedAuthorities(data)))
		if !ecdsa.VerifyASN1(signer.Current.Certificate.PublicKey.(*ecdsa.PublicKey), digest[:], signature) {
			t.Errorf("%s: the signature is not that of the authority that signs", when)
		}
		return data[names.AuthoritiesSerial]
	}
	e.setTurn(names.RootCA, pki.Introduced)
	e.Once()
	first := verify("introduced")
	writes := e.Calls.Writes()
	e.reconcileLater()
	if got := e.Calls.Log(writes); len(got) > 0 {
		t.Errorf("the same text is signed again and again: %v", got)
	}
	e.Clock.Step(time.Minute)
	e.setTurn(names.KubeletClientSigner, pki.Introduced)
	e.Once()
	if second := verify("another authority of clients"); second <= first {
		t.Errorf("serial %s comes after %s", second, first)
	}
	e.setTurn(names.RootCA, pki.Switched)
	e.Once()
	verify("switched")
}

// publish simulates kube-controller-manager.
func (e *hostedCluster) publish() {
	e.T.Helper()
	admin := secret(names.ControlPlaneOperatorKubeconfig, "", nil)
	e.Must(e.Admin().Get(e.T.Context(), client.ObjectKeyFromObject(admin), admin))
	config, err := kubeconfig.Config(admin.Data[names.AdminKubeconfigFile])
	e.Must(err)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-root-ca.crt"}}
	e.Must(client.IgnoreNotFound(e.hosted.Admin().Delete(e.T.Context(), cm)))
	cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-root-ca.crt"}, Data: map[string]string{pki.TrustKey: string(config.CAData)}}
	e.Must(e.hosted.Admin().Create(e.T.Context(), cm))
}

// proxies returns the trusted authorities of the kube-proxy pods.
func (e *hostedCluster) proxies() string {
	e.T.Helper()
	ds := &appsv1.DaemonSet{}
	if !e.inside("kube-system", "kube-proxy", ds) {
		e.T.Fatal("there is no kube-proxy")
	}
	return ds.Spec.Template.Annotations["hypershift.openshift.io/contents"]
}

// join creates nodes without an annotation.
func (e *hostedCluster) join(nodes ...string) {
	e.T.Helper()
	for _, name := range nodes {
		e.Must(e.hosted.Admin().Create(e.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
}

// takeOver simulates the timer of a node.
func (e *hostedCluster) takeOver(name string) {
	e.T.Helper()
	node := &corev1.Node{}
	e.Must(e.hosted.Admin().Get(e.T.Context(), client.ObjectKey{Name: name}, node))
	node.Annotations = map[string]string{names.AuthoritiesAnnotation: e.authorities()[names.AuthoritiesRevision]}
	e.hosted.Update(node)
}

// authorities returns the published authorities for nodes.
func (e *hostedCluster) authorities() map[string]string {
	e.T.Helper()
	cm := &corev1.ConfigMap{}
	if !e.inside("kube-public", names.NodeAuthorities, cm) {
		e.T.Fatal("nodes get no authorities")
	}
	return cm.Data
}

// setTurn takes a step of a rotation as the components controller does.
func (e *hostedCluster) setTurn(name string, want pki.Turn) {
	e.T.Helper()
	s := secret(name, corev1.SecretTypeOpaque, nil)
	signer, err := pki.NewSigner(name, "", e.Clock.Now())
	e.Must(err)
	if err := e.Admin().Get(e.T.Context(), client.ObjectKeyFromObject(s), s); err == nil {
		signer, err = pki.DecodeSigner(s.Data)
		e.Must(err)
	} else {
		e.Create(s)
	}
	got, err := signer.Advance(name, "2026", true, pki.Timing{}, e.Clock.Now())
	e.Must(err)
	if got != want {
		e.T.Fatalf("the rotation comes to %q, want %q", got, want)
	}
	s.Data, err = signer.Data()
	e.Must(err)
	e.Update(s)
	if name == names.KubeletClientSigner {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeletClientCA}, Data: map[string]string{pki.TrustKey: string(signer.Trust())}}
		e.Update(cm)
		return
	}
	e.Update(e.kubeconfig(e.leaf(), signer.Trust()))
}

func (e *hostedCluster) expectEvent(want string) {
	e.T.Helper()
	all := e.Events.Drain()
	if want == "" && len(all) > 0 || want != "" && (len(all) != 1 || !strings.HasPrefix(all[0], want)) {
		e.T.Errorf("recorded %q, want %q", all, want)
	}
}
