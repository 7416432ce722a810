package target

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/hosted-control-planes/hypershift/internal/apiserverconfig"
)

// featureSets are the sets of OpenShift in terms of Kubernetes: TechPreviewNoUpgrade has all beta features, DevPreviewNoUpgrade
// also all alpha features. The other sets are the defaults of Kubernetes.
var featureSets = map[configv1.FeatureSet]struct{ gates, apis []string }{
	configv1.TechPreviewNoUpgrade: {gates: []string{"AllBeta=true"}, apis: []string{"api/beta=true"}},
	configv1.DevPreviewNoUpgrade:  {gates: []string{"AllAlpha=true", "AllBeta=true"}, apis: []string{"api/alpha=true", "api/beta=true"}},
}

// FeatureGates returns the flag of Kubernetes' programs that enables and disables features, or nil without such settings.
// All programs get the same: a feature that only some of them have does not work.
func FeatureGates(env *ControlPlane) ([]string, error) {
	c := env.HCP.Spec.Configuration
	if c == nil || c.FeatureGate == nil {
		return nil, nil
	}
	gates := slices.Clone(featureSets[c.FeatureGate.FeatureSet].gates)
	custom := c.FeatureGate.CustomNoUpgrade
	if custom == nil {
		custom = &configv1.CustomFeatureGates{}
	}
	for _, chosen := range []struct {
		names []configv1.FeatureGateName
		to    string
	}{{custom.Enabled, "true"}, {custom.Disabled, "false"}} {
		for _, name := range chosen.names {
			if err := apiserverconfig.CheckFeature(name); err != nil {
				return nil, err
			}
			gates = append(gates, string(name)+"="+chosen.to)
		}
	}
	if len(gates) == 0 {
		return nil, nil
	}
	return []string{"--feature-gates=" + strings.Join(gates, ",")}, nil
}

// PreviewAPIs returns the flag of the API server that serves the APIs of the feature set, or nil. Most features of a set
// need them.
func PreviewAPIs(env *ControlPlane) []string {
	c := env.HCP.Spec.Configuration
	if c == nil || c.FeatureGate == nil {
		return nil
	}
	apis := featureSets[c.FeatureGate.FeatureSet].apis
	if len(apis) == 0 {
		return nil
	}
	return []string{"--runtime-config=" + strings.Join(apis, ",")}
}
