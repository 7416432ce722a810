package nodepool

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clustersettings"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// bootstrapNames returns the names of the Secret and of the template for a cluster. Copies have the names of their sources.
func bootstrapNames(t *testing.T, change func(*hyperv1.HostedControlPlaneSpec)) (config, template string) {
	t.Helper()
	s, hcp := judged(nil), controlPlane()
	change(&hcp.Spec)
	b := fake.NewClientBuilder()
	for _, name := range []string{"ca", "d", "e", "f", "mine"} {
		meta := metav1.ObjectMeta{Namespace: plane, Name: name, Annotations: map[string]string{hyperv1.CopiedFromAnnotation: name}}
		b.WithObjects(
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca-bundle.crt": "bundle"}},
			&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"id_rsa.pub": []byte("ssh-ed25519 AAAA me")}},
		)
	}
	settings, err := clustersettings.Gather(t.Context(), b.Build(), hcp)
	if err != nil {
		t.Fatal(err)
	}
	s.inputs.Cluster = settings
	secret, err := desiredConfig(s)
	if err != nil {
		t.Fatal(err)
	}
	bootstrap, err := desiredBootstrap(s, secret.Name)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Name, bootstrap.Name
}

func proxy(p configv1.ProxySpec) func(*hyperv1.HostedControlPlaneSpec) {
	return func(spec *hyperv1.HostedControlPlaneSpec) {
		spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &p}
	}
}

// Like TestMachineTemplatesHaveTheSameNamesInEveryVersion: if a name changes, change the code and not this table.
func TestSecretAndTemplateHaveTheSameNamesInEveryVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		change           func(*hyperv1.HostedControlPlaneSpec)
		config, template string
	}{
		"a cluster without settings": {func(*hyperv1.HostedControlPlaneSpec) {}, "node-config-workers-44136fa355b3678a1146", "workers-1b14b76d367bbfa42d84"},
		"a cluster with all settings": {func(spec *hyperv1.HostedControlPlaneSpec) {
			proxy(configv1.ProxySpec{HTTPProxy: "http://a", HTTPSProxy: "http://b", NoProxy: "c", TrustedCA: configv1.ConfigMapNameReference{Name: "d"}})(spec)
			spec.AdditionalTrustBundle, spec.SSHKey = &corev1.LocalObjectReference{Name: "e"}, corev1.LocalObjectReference{Name: "f"}
		}, "node-config-workers-f27eed9f5292b1f587d8", "workers-d95f4094603111e32c92"},
	} {
		t.Run(name, func(t *testing.T) {
			config, template := bootstrapNames(t, tc.change)
			if config != tc.config || template != tc.template {
				t.Errorf("%s, %s\nwant %s, %s", config, template, tc.config, tc.template)
			}
		})
	}
}

func TestOnlySettingsForNodesReplaceMachines(t *testing.T) {
	before, templateBefore := bootstrapNames(t, proxy(configv1.ProxySpec{HTTPProxy: "http://a"}))
	and := func(change func(*hyperv1.HostedControlPlaneSpec)) func(*hyperv1.HostedControlPlaneSpec) {
		return func(spec *hyperv1.HostedControlPlaneSpec) {
			proxy(configv1.ProxySpec{HTTPProxy: "http://a"})(spec)
			change(spec)
		}
	}
	for name, tc := range map[string]struct {
		change func(*hyperv1.HostedControlPlaneSpec)
		rolls  bool
	}{
		"no proxy any more":                  {func(*hyperv1.HostedControlPlaneSpec) {}, true},
		"another proxy":                      {proxy(configv1.ProxySpec{HTTPProxy: "http://b"}), true},
		"an additional proxy for HTTPS":      {proxy(configv1.ProxySpec{HTTPProxy: "http://a", HTTPSProxy: "http://a"}), true},
		"a proxy for HTTPS only":             {proxy(configv1.ProxySpec{HTTPSProxy: "http://a"}), true},
		"hosts without proxy":                {proxy(configv1.ProxySpec{HTTPProxy: "http://a", NoProxy: ".example.com"}), true},
		"a certificate authority of a proxy": {proxy(configv1.ProxySpec{HTTPProxy: "http://a", TrustedCA: configv1.ConfigMapNameReference{Name: "ca"}}), true},
		"readiness endpoints of the proxy":   {proxy(configv1.ProxySpec{HTTPProxy: "http://a", ReadinessEndpoints: []string{"http://a/ready"}}), false},
		"a trust bundle": {and(func(spec *hyperv1.HostedControlPlaneSpec) {
			spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: "ca"}
		}), true},
		"an SSH key":                     {and(func(spec *hyperv1.HostedControlPlaneSpec) { spec.SSHKey.Name = "mine" }), true},
		"another release of the cluster": {and(func(spec *hyperv1.HostedControlPlaneSpec) { spec.ReleaseImage = image135 }), false},
		"configuration of the control plane": {and(func(spec *hyperv1.HostedControlPlaneSpec) {
			spec.Configuration.Scheduler = &configv1.SchedulerSpec{Profile: configv1.HighNodeUtilization}
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			after, templateAfter := bootstrapNames(t, tc.change)
			if (after != before) != tc.rolls || (templateAfter != templateBefore) != tc.rolls {
				t.Errorf("replaces machines: %v and %v, want %v", after != before, templateAfter != templateBefore, tc.rolls)
			}
		})
	}
}

// previousVersion loads the objects of a node pool at rest and of its cluster, as the last version wrote them that stored only
// the configuration of the pool. The file is a record: no newer version can write it again.
func previousVersion(t *testing.T) *testEnv {
	t.Helper()
	text, err := os.ReadFile("testdata/previous-version.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := emptyTestEnv()
	w.Create(t, cluster(), namespace(), pullSecret(), capiDeployment())
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	for _, document := range bytes.Split(text, []byte("---\n")) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		decoded, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		obj := decoded.(client.Object)
		created := obj.DeepCopyObject().(client.Object)
		if err := w.Admin().Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		obj.SetResourceVersion(created.GetResourceVersion())
		if err := w.Admin().Status().Update(t.Context(), obj); client.IgnoreNotFound(err) != nil { // a kind without status is not found
			t.Fatal(err)
		}
	}
	return w
}

func TestAnUpgradeStoresTheClusterSettingsAndReplacesNoMachine(t *testing.T) {
	w := previousVersion(t)
	before, templates := machineNames(t, w), list(t, w, &hyperv1.NodeBootstrapTemplateList{}).Items
	if len(before) != 2 || len(templates) != 1 {
		t.Fatalf("machines %v, %d templates: this is not a pool at rest", before, len(templates))
	}
	name := templates[0].Spec.Template.Spec.ConfigName
	read := func() map[string][]byte {
		secret := &corev1.Secret{}
		if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: name}, secret); err != nil {
			t.Fatal(err)
		}
		return secret.Data
	}
	if old := read(); len(old) != 1 {
		t.Fatalf("the Secret has the keys %v already", slices.Collect(maps.Keys(old)))
	}
	pass := w.start()
	for range 5 {
		if err := pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.expect(t, map[string]string{"UpdatingConfig": "False AsExpected", "UpdatingVersion": "False AsExpected", "UpdatingPlatformMachineTemplate": "False AsExpected"})
	}
	w.run(t, pass)
	w.expect(t, map[string]string{"Ready": "True AsExpected 2 nodes"})
	if diff := cmp.Diff(before, machineNames(t, w)); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
	in, err := nodeconfig.Decode(read())
	if err != nil {
		t.Fatalf("the settings of the cluster are not stored (%v)", err)
	}
	want := nodeconfig.Inputs{
		Pool: nodeconfig.Config{Kubelet: map[string]any{"maxPods": int64(100)}},
		Cluster: nodeconfig.ClusterSettings{
			MachineNetworks: []string{"10.0.0.0/16"}, PodNetworks: []string{"10.132.0.0/14"}, ServiceNetworks: []string{"172.31.0.0/16"},
			Proxy:       nodeconfig.Proxy{HTTPS: "http://proxy:3128", NoProxy: "example.com", TrustedCA: nodeconfig.Source{Name: "copied-proxy-ca", Text: "proxy\n"}},
			TrustBundle: nodeconfig.Source{Name: "my-bundle", Text: "bundle\n"},
			SSHKey:      nodeconfig.Source{Name: "my-key", Text: "ssh-ed25519 AAAA me\n"},
		},
	}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("stored inputs (-want +got):\n%s", diff)
	}
}

func TestNewTextInTheSameSourceIsStoredForNewMachines(t *testing.T) {
	w := previousVersion(t)
	pass := w.start()
	w.run(t, pass)
	before := machineNames(t, w)
	change(t, w, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.UserCABundle}}, func(cm *corev1.ConfigMap) {
		cm.Data["ca-bundle.crt"] = "new\n"
	})
	w.run(t, pass)
	if diff := cmp.Diff(before, machineNames(t, w)); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
	name := list(t, w, &hyperv1.NodeBootstrapTemplateList{}).Items[0].Spec.Template.Spec.ConfigName
	secret := &corev1.Secret{}
	if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	if in, err := nodeconfig.Decode(secret.Data); err != nil || in.Cluster.TrustBundle.Text != "new\n" {
		t.Errorf("a new machine would get %+v (%v)", in.Cluster, err)
	}
}
