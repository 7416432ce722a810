package hostedcluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func bundle(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}, Data: map[string]string{userobjects.TrustBundleKey: text}}
}

// put changes an object as the user.
func (w *testEnv) put(t *testing.T, obj client.Object) {
	t.Helper()
	was := obj.DeepCopyObject().(client.Object)
	if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(obj), was); err != nil {
		t.Fatal(err)
	}
	obj.SetResourceVersion(was.GetResourceVersion())
	if err := w.Admin().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// copied is the value under a key of a Secret in the control plane's namespace.
func (w *testEnv) copied(t *testing.T, name, key string) string {
	t.Helper()
	s := &corev1.Secret{}
	if !w.exists(t, s, w.object(name)) {
		return ""
	}
	return string(s.Data[key])
}

// someBundle is made once, so that two test environments have the same.
var someBundle = sync.OnceValue(func() string {
	cert, _ := certificate(time.Now().Add(48 * time.Hour))
	return string(cert)
})

// richCluster names an object of every kind that a user may bring.
func richCluster() *hyperv1.HostedCluster {
	hc := privateCluster()
	hc.Spec.SSHKey.Name = "my-ssh-key"
	hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "sa-signing-key"} // a name of ours
	hc.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: "my-bundle"}
	hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "my-aes-key"}}}
	hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: "http://proxy:3128", TrustedCA: configv1.ConfigMapNameReference{Name: "my-bundle"}}}
	return hc
}

// riches is all that it names, its pull secret and a node pool.
func riches() []client.Object {
	return []client.Object{
		pullSecret(), pool(),
		secret("clusters", "my-ssh-key", map[string]string{userobjects.SSHPublicKeyKey: somePublicKey, "id_rsa": "private"}),
		secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: someKubeconfig}),
		secret("clusters", "my-aes-key", map[string]string{userobjects.EncryptionKeyKey: strings.Repeat("k", 32)}),
		bundle("my-bundle", someBundle()),
	}
}

func richTestEnv(t testing.TB) *testEnv {
	w := emptyTestEnv(t)
	w.Create(t, append(riches(), richCluster())...)
	return w
}

func TestObjectsOfTheUserAreCopied(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 3)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")

	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	for field, tc := range map[string]struct{ got, want string }{
		"sshKey":                hcpName(&hcp.Spec.SSHKey, "ssh-key"),
		"auditWebhook":          hcpName(hcp.Spec.AuditWebhook, "copied-sa-signing-key"),
		"additionalTrustBundle": hcpName(hcp.Spec.AdditionalTrustBundle, "user-ca-bundle"),
		"activeKey":             hcpName(&hcp.Spec.SecretEncryption.AESCBC.ActiveKey, "copied-my-aes-key"),
		"trustedCA":             {hcp.Spec.Configuration.Proxy.TrustedCA.Name, "copied-my-bundle"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s of the HostedControlPlane is %q, want %q", field, tc.got, tc.want)
		}
	}
	if w.copied(t, "ssh-key", userobjects.SSHPublicKeyKey) != somePublicKey || w.copied(t, "ssh-key", "id_rsa") != "" {
		t.Error("the public key, and only that, should be copied")
	}
	if w.copied(t, names.ServiceAccountSigningKey, names.ServiceAccountPrivateKeyFile) == "" {
		t.Error("the user's Secret shadows ours")
	}
	for _, name := range []string{"user-ca-bundle", "copied-my-bundle"} {
		cm := &corev1.ConfigMap{}
		if !w.exists(t, cm, w.object(name)) || !strings.Contains(cm.Data[userobjects.TrustBundleKey], "CERTIFICATE") {
			t.Errorf("no bundle in %s: %v", name, cm.Data)
		}
	}

	t.Run("again when the source changes", func(t *testing.T) {
		changed := strings.Replace(somePublicKey, "me@", "you@", 1)
		w.put(t, secret("clusters", "my-ssh-key", map[string]string{userobjects.SSHPublicKeyKey: changed}))
		w.run(t, pass, 1)
		if got := w.copied(t, "ssh-key", userobjects.SSHPublicKeyKey); got != changed {
			t.Errorf("the copy holds %q", got)
		}
	})
	t.Run("and the last good copy stays when the source breaks", func(t *testing.T) {
		w.put(t, secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: "nonsense"}))
		if err := w.Admin().Delete(t.Context(), bundle("my-bundle", "")); err != nil {
			t.Fatal(err)
		}
		w.run(t, pass, 2)
		w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.InvalidSecretReason,
			"Secret sa-signing-key, which spec.auditWebhook names, cannot be used: its key webhook-kubeconfig: it cannot be read as a kubeconfig with a current context; ConfigMap my-bundle, which spec.additionalTrustBundle names, does not exist in namespace clusters: create it")
		w.want(t, hyperv1.ValidProxyConfiguration, metav1.ConditionFalse, hyperv1.ConfigMapNotFoundReason, "my-bundle, which spec.configuration.proxy.trustedCA names")
		if w.copied(t, "copied-sa-signing-key", userobjects.AuditWebhookKey) != someKubeconfig || !w.exists(t, &corev1.ConfigMap{}, w.object("user-ca-bundle")) {
			t.Error("a copy is gone or spoiled")
		}
	})
	t.Run("and goes when nothing names it any more", func(t *testing.T) {
		w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.AuditWebhook = nil })
		w.run(t, pass, 1)
		if w.exists(t, &corev1.Secret{}, w.object("copied-sa-signing-key")) {
			t.Error("the copy is still there")
		}
	})
}

// TestAKubeconfigThatRunsProgramsIsRefused tries it with a Secret of its own,
// and by changing the Secret that is in use.
func TestAKubeconfigThatRunsProgramsIsRefused(t *testing.T) {
	evil := asUser(`exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, id], interactiveMode: Never}`)
	const says = "spec.auditWebhook names, cannot be used: its key webhook-kubeconfig: it relies on files or programs; put certificates and keys into it"
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 3)
	w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")

	t.Run("in another Secret: the HostedControlPlane keeps the good one", func(t *testing.T) {
		w.Create(t, secret("clusters", "evil", map[string]string{userobjects.AuditWebhookKey: evil}))
		w.change(t, func(hc *hyperv1.HostedCluster) {
			hc.Spec.AuditWebhook.Name = "evil"
			hc.Spec.Labels = map[string]hyperv1.LabelValue{"team": "a"}
		})
		w.run(t, pass, 2)
		w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "Secret evil, which "+says)
		hcp := &hyperv1.HostedControlPlane{}
		if !w.exists(t, hcp, w.object("demo")) || hcp.Spec.AuditWebhook.Name != "copied-sa-signing-key" {
			t.Errorf("the HostedControlPlane has %v", hcp.Spec.AuditWebhook)
		}
		if w.exists(t, &corev1.Secret{}, w.object("copied-evil")) || !w.exists(t, &corev1.Secret{}, w.object("copied-sa-signing-key")) {
			t.Error("the copy in use is gone, or the refused one is copied")
		}
	})
	t.Run("in the Secret in use: the copy stays, and all else goes on", func(t *testing.T) {
		w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.AuditWebhook.Name = "sa-signing-key" })
		w.put(t, secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: evil}))
		w.run(t, pass, 2)
		w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "Secret sa-signing-key, which "+says)
		if got := w.copied(t, "copied-sa-signing-key", userobjects.AuditWebhookKey); got != someKubeconfig {
			t.Errorf("the copy holds %q", got)
		}
		hcp := &hyperv1.HostedControlPlane{}
		if !w.exists(t, hcp, w.object("demo")) || hcp.Spec.Labels["team"] != "a" {
			t.Error("another change of the HostedCluster is held up")
		}
	})
	t.Run("until it is put right", func(t *testing.T) {
		w.put(t, secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: someKubeconfig}))
		w.run(t, pass, 2)
		w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	})
}

func hcpName(ref *corev1.LocalObjectReference, want string) struct{ got, want string } {
	return struct{ got, want string }{ptr.Deref(ref, corev1.LocalObjectReference{}).Name, want}
}

func TestAModifiedCopyIsRestored(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 2)
	spoiled := &corev1.Secret{}
	if !w.exists(t, spoiled, w.object(names.SSHKey)) {
		t.Fatal("there is no copy")
	}
	spoiled.Data[userobjects.SSHPublicKeyKey] = []byte("mine")
	if err := w.Admin().Update(t.Context(), spoiled); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 1)
	if got := w.copied(t, names.SSHKey, userobjects.SSHPublicKeyKey); got != somePublicKey {
		t.Errorf("the copy holds %q", got)
	}
}

func TestACopyNamesItsSource(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 2)
	says := func(want string) {
		t.Helper()
		cm := &corev1.ConfigMap{}
		if !w.exists(t, cm, w.object(names.UserCABundle)) || cm.Annotations[hyperv1.CopiedFromAnnotation] != want {
			t.Errorf("the copy is of %q, want %s", cm.Annotations[hyperv1.CopiedFromAnnotation], want)
		}
	}
	says("my-bundle")
	w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.AdditionalTrustBundle.Name = "another" })
	w.run(t, pass, 2)
	says("my-bundle") // the last good one: nodes shall not be replaced for it
	w.Create(t, bundle("another", someBundle()))
	w.run(t, pass, 2)
	says("another")
}

func TestNothingIsCreatedWithoutTheEncryptionKey(t *testing.T) {
	for name, tc := range map[string]struct {
		key    *corev1.Secret
		reason string
		words  string
	}{
		"the Secret is missing":   {nil, hyperv1.SecretNotFoundReason, "Secret my-aes-key, which spec.secretEncryption.aescbc.activeKey names, does not exist"},
		"its key is missing":      {secret("clusters", "my-aes-key", map[string]string{"aes": "x"}), hyperv1.InvalidSecretReason, "has no key key: add it"},
		"the key is too short":    {secret("clusters", "my-aes-key", map[string]string{"key": "short"}), hyperv1.InvalidSecretReason, "it has 5 bytes and must have 32"},
		"the key is as it should": {secret("clusters", "my-aes-key", map[string]string{"key": strings.Repeat("k", 32)}), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			hc := privateCluster()
			hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "my-aes-key"}}}
			w.Create(t, pullSecret(), hc)
			if tc.key != nil {
				w.Create(t, tc.key)
			}
			w.run(t, w.start(), 2)
			if made := w.exists(t, &corev1.Namespace{}, client.ObjectKey{Name: plane}); made != (tc.reason == "") {
				t.Errorf("namespace made: %v", made)
			}
			if tc.reason != "" {
				w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, tc.reason, tc.words)
				w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, tc.reason, "")
			}
		})
	}
}

func TestTheKindOfEncryptionOfARunningClusterCannotChange(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 2)
	w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption = kms(region) })
	w.run(t, pass, 2)
	w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, "changed from aescbc to kms")
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) || hcp.Spec.SecretEncryption.Type != hyperv1.AESCBC {
		t.Error("the control plane was told")
	}
}

func TestAnEncryptionKeyInUseCannotChange(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 2)
	old, other := strings.Repeat("k", 32), strings.Repeat("n", 32)
	w.put(t, secret("clusters", "my-aes-key", map[string]string{userobjects.EncryptionKeyKey: other}))
	w.run(t, pass, 1)
	w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "has got another key")
	if w.copied(t, "copied-my-aes-key", userobjects.EncryptionKeyKey) != old {
		t.Fatal("what is in etcd cannot be read any more")
	}
	if err := w.Admin().Delete(t.Context(), secret("clusters", "my-aes-key", nil)); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 1)
	w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.SecretNotFoundReason, "my-aes-key")
	if w.copied(t, "copied-my-aes-key", userobjects.EncryptionKeyKey) != old {
		t.Error("the copy went with its source")
	}
	w.Create(t, secret("clusters", "my-new-key", map[string]string{userobjects.EncryptionKeyKey: other}))
	w.change(t, func(hc *hyperv1.HostedCluster) {
		hc.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "my-new-key"
		hc.Spec.SecretEncryption.AESCBC.BackupKey = &corev1.LocalObjectReference{Name: "my-aes-key"} //nolint:staticcheck // deprecated, and in use where somebody still sets it
	})
	w.run(t, pass, 1)
	if w.copied(t, "copied-my-new-key", userobjects.EncryptionKeyKey) != other || w.copied(t, "copied-my-aes-key", userobjects.EncryptionKeyKey) != old {
		t.Error("a rotation needs both keys")
	}
}

// The configuration of the API servers contains the bytes of an old key, and may be deleted: the copy is the second place.
func TestTheCopyOfAKeyIsKeptWhileSecretsMayBeEncryptedWithIt(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 2)
	old, other := strings.Repeat("k", 32), strings.Repeat("n", 32)
	record := func(st *hyperv1.SecretEncryptionRecord) {
		t.Helper()
		hcp := &hyperv1.HostedControlPlane{}
		if !w.exists(t, hcp, w.object("demo")) {
			t.Fatal("there is no control plane")
		}
		hcp.Status.SecretEncryptionRecord = st
		if err := w.Admin().Status().Update(t.Context(), hcp); err != nil {
			t.Fatal(err)
		}
	}
	before, after := secretencryption.AESCBC("my-aes-key", []byte(old)), secretencryption.AESCBC("my-new-key", []byte(other))
	record(&hyperv1.SecretEncryptionRecord{ActiveKey: &before})
	w.Create(t, secret("clusters", "my-new-key", map[string]string{userobjects.EncryptionKeyKey: other}))
	w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "my-new-key" })
	w.run(t, pass, 2)
	if err := w.Admin().Delete(t.Context(), secret("clusters", "my-aes-key", nil)); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 2)
	if w.copied(t, "copied-my-aes-key", userobjects.EncryptionKeyKey) != old || w.copied(t, "copied-my-new-key", userobjects.EncryptionKeyKey) != other {
		t.Error("a key that may be needed has no copy")
	}
	hc := &hyperv1.HostedCluster{}
	if !w.exists(t, hc, client.ObjectKey{Namespace: "clusters", Name: "demo"}) || hc.Status.SecretEncryption == nil || hc.Status.SecretEncryption.ActiveKey.AESCBC.SecretRef.Name != "my-aes-key" {
		t.Errorf("the user sees %+v", hc.Status.SecretEncryption)
	}
	record(&hyperv1.SecretEncryptionRecord{ActiveKey: &after})
	w.run(t, pass, 1)
	if w.copied(t, "copied-my-aes-key", userobjects.EncryptionKeyKey) != "" {
		t.Error("a key that is not needed has a copy")
	}
}

func TestUnmanagedEtcdCredentials(t *testing.T) {
	w := emptyTestEnv(t)
	cert, key := certificate(w.clock.Now().Add(time.Hour))
	hc := privateCluster()
	hc.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{
		Endpoint: "https://etcd.example.com:2379", TLS: hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "my-etcd"}}}}
	client := map[string]string{userobjects.EtcdCertKey: string(cert), userobjects.EtcdCAKey: string(cert)}
	w.Create(t, pullSecret(), hc, secret("clusters", "my-etcd", client))
	pass := w.start()
	w.run(t, pass, 2)
	w.want(t, hyperv1.UnmanagedEtcdAvailable, metav1.ConditionFalse, hyperv1.UnmanagedEtcdMisconfiguredReason, "Secret my-etcd, which spec.etcd.unmanaged.tls.clientSecret names, has no key etcd-client.key: add it")
	client[userobjects.EtcdKeyKey] = string(key)
	w.put(t, secret("clusters", "my-etcd", client))
	w.run(t, pass, 2)
	w.want(t, hyperv1.UnmanagedEtcdAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

func TestAnExpiredProxyAuthorityIsReported(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	w.run(t, pass, 2)
	w.want(t, hyperv1.ValidProxyConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.clock.Step(50 * time.Hour)
	w.run(t, pass, 1)
	w.want(t, hyperv1.ValidProxyConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigMapReason, "expired on")
}

func TestAnInvalidPullSecretIsReported(t *testing.T) {
	w := emptyTestEnv(t)
	w.Create(t, privateCluster(), secret("clusters", "my-pull-secret", map[string]string{corev1.DockerConfigJsonKey: "hunter2"}))
	w.run(t, w.start(), 1)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.InvalidSecretReason,
		"Secret my-pull-secret, which spec.pullSecret names, cannot be used: its key .dockerconfigjson: it is not JSON")
}

func TestAChangeOfASourceReachesItsClusters(t *testing.T) {
	w := richTestEnv(t)
	watches := watches{reader: w.Admin()}
	object := func(namespace, name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	w.run(t, w.start(), 2)
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	hcp.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"}
	if err := w.Admin().Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		kind userobjects.Kind
		obj  *metav1.PartialObjectMetadata
		want int
	}{
		"a Secret that it names":                       {userobjects.Secret, object("clusters", "my-aes-key"), 1},
		"its pull secret":                              {userobjects.Secret, object("clusters", "my-pull-secret"), 1},
		"a ConfigMap that it names twice":              {userobjects.ConfigMap, object("clusters", "my-bundle"), 1},
		"a ConfigMap with the name of such a Secret":   {userobjects.ConfigMap, object("clusters", "my-aes-key"), 0},
		"a Secret of that name in another namespace":   {userobjects.Secret, object("other", "my-aes-key"), 0},
		"what its control plane hands out":             {userobjects.Secret, object(plane, "admin-kubeconfig"), 1},
		"anything else of its control plane":           {userobjects.Secret, object(plane, "admin-password"), 0},
		"a Secret of a namespace that has no clusters": {userobjects.Secret, object("kube-system", "admin-kubeconfig"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := watches.requestsForSource(t.Context(), tc.kind, tc.obj); len(got) != tc.want {
				t.Errorf("wakes %v, want %d", got, tc.want)
			}
		})
	}
}

// richScenario is the scenario of a cluster with all these objects. Its control plane publishes a kubeconfig, and its deletion deletes
// these objects too.
func richScenario(t testing.TB) *crashtest.Scenario {
	w := richTestEnv(t)
	w.created = []hyperv1.LeftBehindResource{{Service: "ELB", Type: "load balancer", ID: "a1"}}
	scenario := w.scenario()
	scenario.OtherControllers = func(ctx context.Context) error { return errors.Join(w.others(ctx), w.handOut(ctx)) }
	scenario.Ready = func(ctx context.Context) string {
		if !w.existsIn(ctx, &corev1.Secret{}, client.ObjectKey{Namespace: "clusters", Name: "demo-admin-kubeconfig"}) {
			return "the user's kubeconfig"
		}
		return w.ready(ctx)
	}
	scenario.Delete = func(ctx context.Context) error {
		var errs []error
		for _, obj := range append(riches(), richCluster()) {
			errs = append(errs, client.IgnoreNotFound(w.Admin().Delete(ctx, obj)))
		}
		return errors.Join(errs...)
	}
	return scenario
}

// handOut is the control plane that makes a kubeconfig.
func (w *testEnv) handOut(ctx context.Context) error {
	hcp := &hyperv1.HostedControlPlane{}
	if !w.existsIn(ctx, hcp, w.object("demo")) || !hcp.DeletionTimestamp.IsZero() || hcp.Status.KubeConfig != nil {
		return nil
	}
	hcp.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"}
	err := w.Admin().Create(ctx, secret(plane, "admin-kubeconfig", map[string]string{"kubeconfig": "one"}))
	return errors.Join(err, w.Admin().Status().Update(ctx, hcp))
}

func (w *testEnv) existsIn(ctx context.Context, obj client.Object, key client.ObjectKey) bool {
	return w.Admin().Get(ctx, key, obj) == nil
}
