package apiserverconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// InClusterNetwork returns the providers that OIDCProvidersInClusterNetworkAnnotation names, and an error if one of them does not exist: the API
// server would look for its issuer in another network.
func InClusterNetwork(annotations map[string]string, providers []configv1.OIDCProvider) (all []string, err error) {
	const key = hyperv1.OIDCProvidersInClusterNetworkAnnotation
	for name := range strings.SplitSeq(annotations[key], ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.ContainsFunc(providers, func(p configv1.OIDCProvider) bool { return p.Name == name }) {
			return nil, fmt.Errorf("annotation %s names %q, which is not in configuration.authentication.oidcProviders", key, name)
		}
		all = append(all, name)
	}
	return all, nil
}

// CheckOIDCProvider returns an error for a provider that Kubernetes cannot use. The error follows the name of the provider.
func CheckOIDCProvider(p configv1.OIDCProvider) error {
	if len(p.ExternalClaimsSources) > 0 {
		return errors.New("it has externalClaimsSources, which Kubernetes does not support: remove them")
	}
	for _, rule := range p.ClaimValidationRules {
		required := rule.Type == configv1.TokenValidationRuleTypeRequiredClaim && rule.RequiredClaim != nil
		if !required && rule.CEL.Expression == "" {
			return fmt.Errorf("it has a claim validation rule of type %s without its content", rule.Type)
		}
	}
	return nil
}
