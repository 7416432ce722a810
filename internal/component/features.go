package component

import (
	"fmt"
	"regexp"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// featureName is how Kubernetes writes the name of a feature.
var featureName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// FeatureGates is the flag of Kubernetes' programs that turns features on and off
// by their names, nothing if the user names none. All get the same: half a
// feature is a fault. A set of features is known by its name in OpenShift only.
func FeatureGates(env *Env) ([]string, error) {
	c := env.HCP.Spec.Configuration
	if c == nil || c.FeatureGate == nil || c.FeatureGate.CustomNoUpgrade == nil {
		return nil, nil
	}
	var gates []string
	for _, chosen := range []struct {
		names []configv1.FeatureGateName
		to    string
	}{{c.FeatureGate.CustomNoUpgrade.Enabled, "true"}, {c.FeatureGate.CustomNoUpgrade.Disabled, "false"}} {
		for _, name := range chosen.names {
			if !featureName.MatchString(string(name)) {
				return nil, fmt.Errorf("configuration.featureGate.customNoUpgrade names %q, which is no name of a feature: write it like HPAScaleToZero", name)
			}
			gates = append(gates, string(name)+"="+chosen.to)
		}
	}
	if len(gates) == 0 {
		return nil, nil
	}
	return []string{"--feature-gates=" + strings.Join(gates, ",")}, nil
}
