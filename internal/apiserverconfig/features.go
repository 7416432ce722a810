package apiserverconfig

import (
	"fmt"
	"regexp"

	configv1 "github.com/openshift/api/config/v1"
)

// featureName matches the names of features of Kubernetes.
var featureName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// CheckFeature returns an error for a name that no feature of Kubernetes can have.
func CheckFeature(name configv1.FeatureGateName) error {
	if featureName.MatchString(string(name)) {
		return nil
	}
	return fmt.Errorf("configuration.featureGate.customNoUpgrade names %q, which is no name of a feature: write it like HPAScaleToZero", name)
}
