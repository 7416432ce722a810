package hostedcluster

import (
	"net/url"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// checkAuthentication wants one answer to who the users are.
func checkAuthentication(hc *hyperv1.HostedCluster) []problem {
	if hc.Spec.Configuration == nil || hc.Spec.Configuration.Authentication == nil {
		return nil
	}
	auth := hc.Spec.Configuration.Authentication
	const field = "configuration.authentication"
	var problems []problem
	say := func(format string, args ...any) {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, format, args...))
	}
	oidc := auth.Type == configv1.AuthenticationTypeOIDC
	switch auth.Type {
	case "", configv1.AuthenticationTypeIntegratedOAuth, configv1.AuthenticationTypeNone, configv1.AuthenticationTypeOIDC:
	default:
		say("%s.type is %q: use IntegratedOAuth, OIDC or None", field, auth.Type)
	}
	if auth.WebhookTokenAuthenticator != nil && auth.Type != configv1.AuthenticationTypeNone {
		say("%s.webhookTokenAuthenticator is possible only with type None: remove it, or change the type", field)
	}
	if auth.ServiceAccountIssuer != "" && auth.ServiceAccountIssuer != hc.Spec.IssuerURL {
		say("%s.serviceAccountIssuer is %s and spec.issuerURL is %s: remove the former", field, auth.ServiceAccountIssuer, hc.Spec.IssuerURL)
	}
	switch {
	case !oidc && len(auth.OIDCProviders) > 0:
		say("%s.oidcProviders is possible only with type OIDC: remove it, or change the type", field)
	case oidc && len(auth.OIDCProviders) != 1:
		say("%s.type is OIDC and oidcProviders has %d entries: name exactly one provider", field, len(auth.OIDCProviders))
	case oidc:
		problems = append(problems, checkProvider(field+".oidcProviders[0]", auth.OIDCProviders[0])...)
	}
	if oauth := hc.Spec.Configuration.OAuth; oidc && oauth != nil && len(oauth.IdentityProviders) > 0 {
		say("configuration.oauth.identityProviders are for the integrated OAuth server, which type OIDC does without: remove them, or change %s.type", field)
	}
	return problems
}

func checkProvider(field string, p configv1.OIDCProvider) []problem {
	var problems []problem
	if u, err := url.Parse(p.Issuer.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
			"%s.issuer.issuerURL is %q: write an https URL without user, query and fragment", field, p.Issuer.URL))
	}
	if len(p.Issuer.Audiences) == 0 {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "%s.issuer.audiences is empty: tokens for whom are to be accepted?", field))
	}
	return problems
}
