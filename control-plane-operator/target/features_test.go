package target

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestFeatureGates(t *testing.T) {
	for name, c := range map[string]struct {
		chosen  *configv1.CustomFeatureGates
		want    []string
		refused bool
	}{
		"none is no flag":              {},
		"an empty choice is no flag":   {chosen: &configv1.CustomFeatureGates{}},
		"on comes before off":          {chosen: &configv1.CustomFeatureGates{Enabled: []configv1.FeatureGateName{"A", "B"}, Disabled: []configv1.FeatureGateName{"C"}}, want: []string{"--feature-gates=A=true,B=true,C=false"}},
		"what is no name is refused":   {chosen: &configv1.CustomFeatureGates{Enabled: []configv1.FeatureGateName{"A=true,B"}}, refused: true},
		"nothing is no name of either": {chosen: &configv1.CustomFeatureGates{Disabled: []configv1.FeatureGateName{""}}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			env := &ControlPlane{HCP: &hyperv1.HostedControlPlane{}}
			env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{FeatureGate: &configv1.FeatureGateSpec{
				FeatureGateSelection: configv1.FeatureGateSelection{FeatureSet: configv1.CustomNoUpgrade, CustomNoUpgrade: c.chosen},
			}}
			got, err := FeatureGates(env)
			if !slices.Equal(got, c.want) || (err != nil) != c.refused {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestFeatureSets(t *testing.T) {
	for set, want := range map[configv1.FeatureSet][]string{
		"":                            nil,
		configv1.OKD:                  nil,
		configv1.TechPreviewNoUpgrade: {"--feature-gates=AllBeta=true", "--runtime-config=api/beta=true"},
		configv1.DevPreviewNoUpgrade:  {"--feature-gates=AllAlpha=true,AllBeta=true", "--runtime-config=api/alpha=true,api/beta=true"},
	} {
		env := &ControlPlane{HCP: &hyperv1.HostedControlPlane{}}
		env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{FeatureGate: &configv1.FeatureGateSpec{FeatureGateSelection: configv1.FeatureGateSelection{FeatureSet: set}}}
		for range 2 { // the sets are shared
			gates, err := FeatureGates(env)
			if got := append(gates, PreviewAPIs(env)...); err != nil || !slices.Equal(got, want) {
				t.Errorf("feature set %q has the flags %v, %v; want %v", set, got, err, want)
			}
		}
	}
}
