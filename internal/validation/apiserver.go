package validation

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apiserverconfig"
)

// apiServer rejects settings with which the API server cannot start.
func apiServer(s *hyperv1.HostedClusterSpec) field.ErrorList {
	if s.Configuration == nil {
		return nil
	}
	path := spec.Child("configuration")
	var errs field.ErrorList
	check := func(at *field.Path, value any, err error) {
		if err != nil {
			errs = append(errs, configuration.invalid(at, value, "%v", err))
		}
	}
	if api := s.Configuration.APIServer; api != nil {
		at := path.Child("apiServer")
		_, _, err := apiserverconfig.TLS(api.TLSSecurityProfile)
		check(at.Child("tlsSecurityProfile"), api.TLSSecurityProfile, err)
		check(at.Child("audit", "profile"), api.Audit.Profile, apiserverconfig.CheckAuditProfile(api.Audit.Profile))
		for i, custom := range api.Audit.CustomRules {
			check(at.Child("audit", "customRules").Index(i).Child("profile"), custom.Profile, apiserverconfig.CheckAuditProfile(custom.Profile))
		}
	}
	if gates := s.Configuration.FeatureGate; gates != nil && gates.CustomNoUpgrade != nil {
		for _, name := range slices.Concat(gates.CustomNoUpgrade.Enabled, gates.CustomNoUpgrade.Disabled) {
			check(path.Child("featureGate", "customNoUpgrade"), name, apiserverconfig.CheckFeature(name))
		}
	}
	return errs
}

// usableProvider rejects a provider that Kubernetes cannot use.
func usableProvider(p configv1.OIDCProvider, path *field.Path, name string) field.ErrorList {
	if err := apiserverconfig.CheckOIDCProvider(p); err != nil {
		return field.ErrorList{configuration.invalid(path, p.Name, "%s: %v", name, err)}
	}
	return nil
}
