package apiserverconfig

import (
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
)

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
