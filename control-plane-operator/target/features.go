package target

import (
	"fmt"
	"regexp"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// featureName matches the names of features of Kubernetes.
var featureName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// FeatureGates returns the flag of Kubernetes' programs that enables and disables features, or nothing if the user specifies
// none. All programs get the same: a feature that only some of them have does not work. Feature sets exist in OpenShift only.
func FeatureGates(env *ControlPlane) ([]string, error) {
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
