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
	"github.com/hosted-control-planes/hypershift/test/testenv"
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

// copied is the value under a key of a Secret in the control plane's namespace.
func (e *managementCluster) copied(name, key string) string {
	e.T.Helper()
	s := &corev1.Secret{}
	if !e.Has(s, name) {
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
		testenv.PullSecret(), pool(),
		secret("clusters", "my-ssh-key", map[string]string{userobjects.SSHPublicKeyKey: somePublicKey, "id_rsa": "private"}),
		secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: someKubeconfig}),
		secret("clusters", "my-aes-key", map[string]string{userobjects.EncryptionKeyKey: strings.Repeat("k", 32)}),
		bundle("my-bundle", someBundle()),
	}
}

func richTestEnv(t testing.TB) *managementCluster {
	e := newEmptyManagementCluster(t)
	e.Create(append(riches(), richCluster())...)
	return e
}

func TestObjectsOfTheUserAreCopied(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(3)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")

	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
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
	if e.copied("ssh-key", userobjects.SSHPublicKeyKey) != somePublicKey || e.copied("ssh-key", "id_rsa") != "" {
		t.Error("the public key, and only that, should be copied")
	}
	if e.copied(names.ServiceAccountSigningKey, names.ServiceAccountPrivateKeyFile) == "" {
		t.Error("the user's Secret shadows ours")
	}
	for _, name := range []string{"user-ca-bundle", "copied-my-bundle"} {
		cm := &corev1.ConfigMap{}
		if !e.Has(cm, name) || !strings.Contains(cm.Data[userobjects.TrustBundleKey], "CERTIFICATE") {
			t.Errorf("no bundle in %s: %v", name, cm.Data)
		}
	}

	t.Run("again when the source changes", func(t *testing.T) {
		e.ReportTo(t)
		changed := strings.Replace(somePublicKey, "me@", "you@", 1)
		e.Put(secret("clusters", "my-ssh-key", map[string]string{userobjects.SSHPublicKeyKey: changed}))
		e.Run(1)
		if got := e.copied("ssh-key", userobjects.SSHPublicKeyKey); got != changed {
			t.Errorf("the copy holds %q", got)
		}
	})
	t.Run("and the last good copy stays when the source breaks", func(t *testing.T) {
		e.ReportTo(t)
		e.Put(secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: "nonsense"}))
		if err := e.Admin().Delete(t.Context(), bundle("my-bundle", "")); err != nil {
			t.Fatal(err)
		}
		e.Run(2)
		e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.InvalidSecretReason,
			"Secret sa-signing-key, which spec.auditWebhook names, cannot be used: its key webhook-kubeconfig: it cannot be read as a kubeconfig with a current context; ConfigMap my-bundle, which spec.additionalTrustBundle names, does not exist in namespace clusters: create it")
		e.ExpectCondition(hyperv1.ValidProxyConfiguration, metav1.ConditionFalse, hyperv1.ConfigMapNotFoundReason, "my-bundle, which spec.configuration.proxy.trustedCA names")
		if e.copied("copied-sa-signing-key", userobjects.AuditWebhookKey) != someKubeconfig || !e.Has(&corev1.ConfigMap{}, "user-ca-bundle") {
			t.Error("a copy is gone or spoiled")
		}
	})
	t.Run("and goes when nothing names it any more", func(t *testing.T) {
		e.ReportTo(t)
		e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.AuditWebhook = nil })
		e.Run(1)
		if e.Has(&corev1.Secret{}, "copied-sa-signing-key") {
			t.Error("the copy is still there")
		}
	})
}

// TestAKubeconfigThatRunsProgramsIsRefused tries it with a Secret of its own,
// and by changing the Secret that is in use.
func TestAKubeconfigThatRunsProgramsIsRefused(t *testing.T) {
	evil := asUser(`exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, id], interactiveMode: Never}`)
	const says = "spec.auditWebhook names, cannot be used: its key webhook-kubeconfig: it relies on files or programs; put certificates and keys into it"
	e := richTestEnv(t)
	e.Restart()
	e.Run(3)
	e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")

	t.Run("in another Secret: the HostedControlPlane keeps the good one", func(t *testing.T) {
		e.ReportTo(t)
		e.Create(secret("clusters", "evil", map[string]string{userobjects.AuditWebhookKey: evil}))
		e.change(func(hc *hyperv1.HostedCluster) {
			hc.Spec.AuditWebhook.Name = "evil"
			hc.Spec.Labels = map[string]hyperv1.LabelValue{"team": "a"}
		})
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "Secret evil, which "+says)
		hcp := &hyperv1.HostedControlPlane{}
		if !e.Has(hcp, "demo") || hcp.Spec.AuditWebhook.Name != "copied-sa-signing-key" {
			t.Errorf("the HostedControlPlane has %v", hcp.Spec.AuditWebhook)
		}
		if e.Has(&corev1.Secret{}, "copied-evil") || !e.Has(&corev1.Secret{}, "copied-sa-signing-key") {
			t.Error("the copy in use is gone, or the refused one is copied")
		}
	})
	t.Run("in the Secret in use: the copy stays, and all else goes on", func(t *testing.T) {
		e.ReportTo(t)
		e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.AuditWebhook.Name = "sa-signing-key" })
		e.Put(secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: evil}))
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "Secret sa-signing-key, which "+says)
		if got := e.copied("copied-sa-signing-key", userobjects.AuditWebhookKey); got != someKubeconfig {
			t.Errorf("the copy holds %q", got)
		}
		hcp := &hyperv1.HostedControlPlane{}
		if !e.Has(hcp, "demo") || hcp.Spec.Labels["team"] != "a" {
			t.Error("another change of the HostedCluster is held up")
		}
	})
	t.Run("until it is put right", func(t *testing.T) {
		e.ReportTo(t)
		e.Put(secret("clusters", "sa-signing-key", map[string]string{userobjects.AuditWebhookKey: someKubeconfig}))
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	})
}

func hcpName(ref *corev1.LocalObjectReference, want string) struct{ got, want string } {
	return struct{ got, want string }{ptr.Deref(ref, corev1.LocalObjectReference{}).Name, want}
}

func TestAModifiedCopyIsRestored(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(2)
	spoiled := &corev1.Secret{}
	if !e.Has(spoiled, names.SSHKey) {
		t.Fatal("there is no copy")
	}
	spoiled.Data[userobjects.SSHPublicKeyKey] = []byte("mine")
	e.Update(spoiled)
	e.Run(1)
	if got := e.copied(names.SSHKey, userobjects.SSHPublicKeyKey); got != somePublicKey {
		t.Errorf("the copy holds %q", got)
	}
}

func TestACopyNamesItsSource(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(2)
	says := func(want string) {
		t.Helper()
		cm := &corev1.ConfigMap{}
		if !e.Has(cm, names.UserCABundle) || cm.Annotations[hyperv1.CopiedFromAnnotation] != want {
			t.Errorf("the copy is of %q, want %s", cm.Annotations[hyperv1.CopiedFromAnnotation], want)
		}
	}
	says("my-bundle")
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.AdditionalTrustBundle.Name = "another" })
	e.Run(2)
	says("my-bundle") // the last good one: nodes shall not be replaced for it
	e.Create(bundle("another", someBundle()))
	e.Run(2)
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
			e := newEmptyManagementCluster(t)
			hc := privateCluster()
			hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "my-aes-key"}}}
			e.Create(testenv.PullSecret(), hc)
			if tc.key != nil {
				e.Create(tc.key)
			}
			e.Restart()
			e.Run(2)
			if made := e.Exists(planeNamespace()); made != (tc.reason == "") {
				t.Errorf("namespace made: %v", made)
			}
			if tc.reason != "" {
				e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, tc.reason, tc.words)
				e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, tc.reason, "")
			}
		})
	}
}

func TestTheKindOfEncryptionOfARunningClusterCannotChange(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(2)
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption = kms(region) })
	e.Run(2)
	e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, "changed from aescbc to kms")
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") || hcp.Spec.SecretEncryption.Type != hyperv1.AESCBC {
		t.Error("the control plane was told")
	}
}

func TestAnEncryptionKeyInUseCannotChange(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(2)
	old, other := strings.Repeat("k", 32), strings.Repeat("n", 32)
	e.Put(secret("clusters", "my-aes-key", map[string]string{userobjects.EncryptionKeyKey: other}))
	e.Run(1)
	e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "has got another key")
	if e.copied("copied-my-aes-key", userobjects.EncryptionKeyKey) != old {
		t.Fatal("what is in etcd cannot be read any more")
	}
	e.Delete(secret("clusters", "my-aes-key", nil))
	e.Run(1)
	e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.SecretNotFoundReason, "my-aes-key")
	if e.copied("copied-my-aes-key", userobjects.EncryptionKeyKey) != old {
		t.Error("the copy went with its source")
	}
	e.Create(secret("clusters", "my-new-key", map[string]string{userobjects.EncryptionKeyKey: other}))
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "my-new-key"
		hc.Spec.SecretEncryption.AESCBC.BackupKey = &corev1.LocalObjectReference{Name: "my-aes-key"} //nolint:staticcheck // deprecated, and in use where somebody still sets it
	})
	e.Run(1)
	if e.copied("copied-my-new-key", userobjects.EncryptionKeyKey) != other || e.copied("copied-my-aes-key", userobjects.EncryptionKeyKey) != old {
		t.Error("a rotation needs both keys")
	}
}

// The configuration of the API servers contains the bytes of an old key, and may be deleted: the copy is the second place.
func TestTheCopyOfAKeyIsKeptWhileSecretsMayBeEncryptedWithIt(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(2)
	old, other := strings.Repeat("k", 32), strings.Repeat("n", 32)
	record := func(st *hyperv1.SecretEncryptionRecord) {
		t.Helper()
		hcp := &hyperv1.HostedControlPlane{}
		if !e.Has(hcp, "demo") {
			t.Fatal("there is no control plane")
		}
		hcp.Status.SecretEncryptionRecord = st
		e.UpdateStatus(hcp)
	}
	before, after := secretencryption.AESCBC("my-aes-key", []byte(old)), secretencryption.AESCBC("my-new-key", []byte(other))
	record(&hyperv1.SecretEncryptionRecord{ActiveKey: &before})
	e.Create(secret("clusters", "my-new-key", map[string]string{userobjects.EncryptionKeyKey: other}))
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "my-new-key" })
	e.Run(2)
	e.Delete(secret("clusters", "my-aes-key", nil))
	e.Run(2)
	if e.copied("copied-my-aes-key", userobjects.EncryptionKeyKey) != old || e.copied("copied-my-new-key", userobjects.EncryptionKeyKey) != other {
		t.Error("a key that may be needed has no copy")
	}
	hc := privateCluster()
	if !e.Exists(hc) || hc.Status.SecretEncryption == nil || hc.Status.SecretEncryption.ActiveKey.AESCBC.SecretRef.Name != "my-aes-key" {
		t.Errorf("the user sees %+v", hc.Status.SecretEncryption)
	}
	record(&hyperv1.SecretEncryptionRecord{ActiveKey: &after})
	e.Run(1)
	if e.copied("copied-my-aes-key", userobjects.EncryptionKeyKey) != "" {
		t.Error("a key that is not needed has a copy")
	}
}

func TestUnmanagedEtcdCredentials(t *testing.T) {
	e := newEmptyManagementCluster(t)
	cert, key := certificate(e.Clock.Now().Add(time.Hour))
	hc := privateCluster()
	hc.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{
		Endpoint: "https://etcd.example.com:2379", TLS: hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "my-etcd"}}}}
	client := map[string]string{userobjects.EtcdCertKey: string(cert), userobjects.EtcdCAKey: string(cert)}
	e.Create(testenv.PullSecret(), hc, secret("clusters", "my-etcd", client))
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.UnmanagedEtcdAvailable, metav1.ConditionFalse, hyperv1.UnmanagedEtcdMisconfiguredReason, "Secret my-etcd, which spec.etcd.unmanaged.tls.clientSecret names, has no key etcd-client.key: add it")
	client[userobjects.EtcdKeyKey] = string(key)
	e.Put(secret("clusters", "my-etcd", client))
	e.Run(2)
	e.ExpectCondition(hyperv1.UnmanagedEtcdAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

func TestAnExpiredProxyAuthorityIsReported(t *testing.T) {
	e := richTestEnv(t)
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.ValidProxyConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.Clock.Step(50 * time.Hour)
	e.Run(1)
	e.ExpectCondition(hyperv1.ValidProxyConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigMapReason, "expired on")
}

func TestAnInvalidPullSecretIsReported(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.Create(privateCluster(), secret("clusters", "my-pull-secret", map[string]string{corev1.DockerConfigJsonKey: "hunter2"}))
	e.Restart()
	e.Run(1)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.InvalidSecretReason,
		"Secret my-pull-secret, which spec.pullSecret names, cannot be used: its key .dockerconfigjson: it is not JSON")
}

func TestAChangeOfASourceReachesItsClusters(t *testing.T) {
	e := richTestEnv(t)
	watches := watches{reader: e.Admin()}
	object := func(namespace, name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	e.Restart()
	e.Run(2)
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		t.Fatal("there is no control plane")
	}
	hcp.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"}
	e.UpdateStatus(hcp)
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
	e := richTestEnv(t)
	e.created = []hyperv1.LeftBehindResource{{Service: "ELB", Type: "load balancer", ID: "a1"}}
	scenario := e.scenario()
	scenario.OtherControllers = func(ctx context.Context) error { return errors.Join(e.others(ctx), e.handOut(ctx)) }
	scenario.Ready = func(ctx context.Context) string {
		if !e.existsIn(ctx, &corev1.Secret{}, client.ObjectKey{Namespace: "clusters", Name: "demo-admin-kubeconfig"}) {
			return "the user's kubeconfig"
		}
		return e.Ready(hyperv1.HostedClusterAvailable)(ctx)
	}
	scenario.Delete = func(ctx context.Context) error {
		var errs []error
		for _, obj := range append(riches(), richCluster()) {
			errs = append(errs, client.IgnoreNotFound(e.Admin().Delete(ctx, obj)))
		}
		return errors.Join(errs...)
	}
	return scenario
}

// handOut is the control plane that makes a kubeconfig.
func (e *managementCluster) handOut(ctx context.Context) error {
	hcp := &hyperv1.HostedControlPlane{}
	if !e.existsIn(ctx, hcp, client.ObjectKey{Namespace: plane, Name: "demo"}) || !hcp.DeletionTimestamp.IsZero() || hcp.Status.KubeConfig != nil {
		return nil
	}
	hcp.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"}
	err := e.Admin().Create(ctx, secret(plane, "admin-kubeconfig", map[string]string{"kubeconfig": "one"}))
	return errors.Join(err, e.Admin().Status().Update(ctx, hcp))
}

func (e *managementCluster) existsIn(ctx context.Context, obj client.Object, key client.ObjectKey) bool {
	return e.Admin().Get(ctx, key, obj) == nil
}
