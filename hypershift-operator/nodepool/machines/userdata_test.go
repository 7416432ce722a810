package machines

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/clustersettings"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
)

// bootstrapNames returns the names of the Secret and of the template for a cluster. Copies have the names of their sources.
func bootstrapNames(t *testing.T, change func(*hyperv1.HostedControlPlaneSpec)) (config, template string) {
	t.Helper()
	s, hcp := newSpec(nil), &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: nodepooltest.Namespace, Name: "demo"}}
	change(&hcp.Spec)
	b := fake.NewClientBuilder()
	for _, name := range []string{"ca", "d", "e", "f", "mine"} {
		meta := metav1.ObjectMeta{Namespace: nodepooltest.Namespace, Name: name, Annotations: map[string]string{hyperv1.CopiedFromAnnotation: name}}
		b.WithObjects(
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca-bundle.crt": "bundle"}},
			&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"id_rsa.pub": []byte("ssh-ed25519 AAAA me")}},
		)
	}
	settings, err := clustersettings.Gather(t.Context(), b.Build(), hcp)
	if err != nil {
		t.Fatal(err)
	}
	s.UserData.Cluster = settings
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
		"another release of the cluster": {and(func(spec *hyperv1.HostedControlPlaneSpec) { spec.ReleaseImage = nodepooltest.Image135 }), false},
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

// The provider would store user data for cloud-init in Secrets Manager, and refuses settings for both formats.
func TestAMachineWithCloudInitGetsItsUserDataFromEC2(t *testing.T) {
	s := newSpec(nil)
	s.UserDataFormat = hyperv1.UserDataFormatCloudConfig
	got := desiredMachine(s)
	if got.Ignition != nil || got.CloudInit != (infrav1.CloudInit{InsecureSkipSecretsManager: true}) || !ptr.Deref(got.UncompressedUserData, false) {
		t.Errorf("Ignition %+v, cloud-init %+v, uncompressed %v", got.Ignition, got.CloudInit, got.UncompressedUserData)
	}
	template, err := desiredBootstrap(s, "config")
	if err != nil || template.Spec.Template.Spec.UserDataFormat != hyperv1.UserDataFormatCloudConfig {
		t.Errorf("the template is %+v, %v", template, err)
	}
	s.UserDataFormat = hyperv1.UserDataFormatIgnition
	other, err := desiredBootstrap(s, "config")
	if err != nil || other.Name == template.Name {
		t.Errorf("templates of both formats are named %s, %v", other.Name, err)
	}
}
