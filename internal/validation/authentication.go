package validation

import (
	"net/url"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func authenticationOf(s *hyperv1.HostedClusterSpec) *configv1.AuthenticationSpec {
	if s.Configuration == nil {
		return nil
	}
	return s.Configuration.Authentication
}

func oauthOf(s *hyperv1.HostedClusterSpec) *configv1.OAuthSpec {
	if s.Configuration == nil {
		return nil
	}
	return s.Configuration.OAuth
}

// authentication rejects settings of different ways to authenticate users.
func authentication(auth *configv1.AuthenticationSpec, oauth *configv1.OAuthSpec, issuerURL string) field.ErrorList {
	if auth == nil {
		return nil
	}
	const name = "configuration.authentication"
	path := spec.Child("configuration", "authentication")
	var errs field.ErrorList
	oidc := auth.Type == configv1.AuthenticationTypeOIDC
	switch auth.Type {
	case "", configv1.AuthenticationTypeIntegratedOAuth, configv1.AuthenticationTypeNone, configv1.AuthenticationTypeOIDC:
	default:
		errs = append(errs, configuration.unsupported(path.Child("type"), auth.Type, "%s.type is %q: use IntegratedOAuth, OIDC or None", name, auth.Type))
	}
	if auth.WebhookTokenAuthenticator != nil && auth.Type != configv1.AuthenticationTypeNone {
		errs = append(errs, configuration.forbidden(path.Child("webhookTokenAuthenticator"), "%s.webhookTokenAuthenticator is possible only with type None: remove it, or change the type", name))
	}
	if auth.ServiceAccountIssuer != "" && auth.ServiceAccountIssuer != issuerURL {
		errs = append(errs, configuration.invalid(path.Child("serviceAccountIssuer"), auth.ServiceAccountIssuer,
			"%s.serviceAccountIssuer is %s and spec.issuerURL is %s: remove the former", name, auth.ServiceAccountIssuer, issuerURL))
	}
	providers := path.Child("oidcProviders")
	switch {
	case !oidc && len(auth.OIDCProviders) > 0:
		errs = append(errs, configuration.forbidden(providers, "%s.oidcProviders is possible only with type OIDC: remove it, or change the type", name))
	case oidc && len(auth.OIDCProviders) != 1:
		errs = append(errs, configuration.invalid(providers, len(auth.OIDCProviders), "%s.type is OIDC and oidcProviders has %d entries: name exactly one provider", name, len(auth.OIDCProviders)))
	case oidc:
		errs = append(errs, oidcProvider(auth.OIDCProviders[0], providers.Index(0), name+".oidcProviders[0]")...)
	}
	if oidc && oauth != nil && len(oauth.IdentityProviders) > 0 {
		errs = append(errs, configuration.forbidden(spec.Child("configuration", "oauth", "identityProviders"),
			"configuration.oauth.identityProviders are for the integrated OAuth server, which type OIDC does without: remove them, or change %s.type", name))
	}
	return errs
}

func oidcProvider(p configv1.OIDCProvider, path *field.Path, name string) field.ErrorList {
	var errs field.ErrorList
	if u, err := url.Parse(p.Issuer.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		errs = append(errs, configuration.invalid(path.Child("issuer", "issuerURL"), p.Issuer.URL,
			"%s.issuer.issuerURL is %q: write an https URL without user, query and fragment", name, p.Issuer.URL))
	}
	if len(p.Issuer.Audiences) == 0 {
		errs = append(errs, configuration.required(path.Child("issuer", "audiences"), "%s.issuer.audiences is empty: list the audiences whose tokens are accepted", name))
	}
	return append(errs, usableProvider(p, path, name)...)
}
