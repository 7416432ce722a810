package nodepool

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// bootstrapNames are those of the Secret and of the template for one cluster.
func bootstrapNames(t *testing.T, change func(*hyperv1.HostedControlPlaneSpec)) (config, template string) {
	t.Helper()
	s, hcp := judged(nil), controlPlane()
	change(&hcp.Spec)
	var err error
	asked := clusterWide{SSHKey: hcp.Spec.SSHKey.Name}
	if ref := hcp.Spec.AdditionalTrustBundle; ref != nil {
		asked.TrustBundle = ref.Name
	}
	if s.clusterWide, err = withProxy(asked, hcp).words(); err != nil {
		t.Fatal(err)
	}
	secret, err := desiredConfig(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := desiredBootstrap(s, secret.Name)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Name, b.Name
}

func proxy(p configv1.ProxySpec) func(*hyperv1.HostedControlPlaneSpec) {
	return func(spec *hyperv1.HostedControlPlaneSpec) {
		spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &p}
	}
}

// See TestTheNamesOfTemplatesStay: if a name changes, the code is wrong.
func TestTheNamesOfConfigurationsStay(t *testing.T) {
	for name, tc := range map[string]struct {
		change           func(*hyperv1.HostedControlPlaneSpec)
		config, template string
	}{
		"a simple cluster": {func(*hyperv1.HostedControlPlaneSpec) {}, "node-config-workers-44136fa355b3678a1146", "workers-1b14b76d367bbfa42d84"},
		"a cluster that asks for all": {func(spec *hyperv1.HostedControlPlaneSpec) {
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

func TestWhatOfTheClusterReplacesMachines(t *testing.T) {
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
		"no proxy any more":     {func(*hyperv1.HostedControlPlaneSpec) {}, true},
		"another proxy":         {proxy(configv1.ProxySpec{HTTPProxy: "http://b"}), true},
		"a proxy for https":     {proxy(configv1.ProxySpec{HTTPProxy: "http://a", HTTPSProxy: "http://a"}), true},
		"only for https":        {proxy(configv1.ProxySpec{HTTPSProxy: "http://a"}), true},
		"what needs no proxy":   {proxy(configv1.ProxySpec{HTTPProxy: "http://a", NoProxy: ".example.com"}), true},
		"whom the proxy is":     {proxy(configv1.ProxySpec{HTTPProxy: "http://a", TrustedCA: configv1.ConfigMapNameReference{Name: "ca"}}), true},
		"how a proxy is tested": {proxy(configv1.ProxySpec{HTTPProxy: "http://a", ReadinessEndpoints: []string{"http://a/ready"}}), false},
		"a trust bundle": {and(func(spec *hyperv1.HostedControlPlaneSpec) {
			spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: "ca"}
		}), true},
		"an ssh key":               {and(func(spec *hyperv1.HostedControlPlaneSpec) { spec.SSHKey.Name = "mine" }), true},
		"a release of the cluster": {and(func(spec *hyperv1.HostedControlPlaneSpec) { spec.ReleaseImage = image135 }), false},
		"another configuration": {and(func(spec *hyperv1.HostedControlPlaneSpec) {
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
