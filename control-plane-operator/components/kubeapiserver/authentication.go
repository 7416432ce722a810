package kubeapiserver

import (
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apiserverconfig"
)

// The part of apiserver.config.k8s.io/v1 that a provider needs.
type (
	authenticationConfiguration struct {
		APIVersion string             `json:"apiVersion"`
		Kind       string             `json:"kind"`
		JWT        []jwtAuthenticator `json:"jwt"`
	}
	jwtAuthenticator struct {
		Issuer               issuer             `json:"issuer"`
		ClaimValidationRules []claimRule        `json:"claimValidationRules,omitempty"`
		ClaimMappings        claimMappings      `json:"claimMappings"`
		UserValidationRules  []expressionOfUser `json:"userValidationRules,omitempty"`
	}
	issuer struct {
		URL                  string   `json:"url"`
		DiscoveryURL         string   `json:"discoveryURL,omitempty"`
		CertificateAuthority string   `json:"certificateAuthority,omitempty"`
		Audiences            []string `json:"audiences"`
		AudienceMatchPolicy  string   `json:"audienceMatchPolicy"`
		// EgressSelectorType is cluster for an issuer that the tunnels to the nodes lead to. Kubernetes has it since 1.34:
		// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
		EgressSelectorType string `json:"egressSelectorType,omitempty"`
	}
	claimRule struct {
		Claim         string `json:"claim,omitempty"`
		RequiredValue string `json:"requiredValue,omitempty"`
		Expression    string `json:"expression,omitempty"`
		Message       string `json:"message,omitempty"`
	}
	expressionOfUser struct {
		Expression string `json:"expression"`
		Message    string `json:"message,omitempty"`
	}
	claimMappings struct {
		Username mapping        `json:"username"`
		Groups   *mapping       `json:"groups,omitempty"`
		UID      *mapping       `json:"uid,omitempty"`
		Extra    []extraMapping `json:"extra,omitempty"`
	}
	mapping struct {
		Claim      string  `json:"claim,omitempty"`
		Prefix     *string `json:"prefix,omitempty"`
		Expression string  `json:"expression,omitempty"`
	}
	extraMapping struct {
		Key             string `json:"key"`
		ValueExpression string `json:"valueExpression"`
	}
)

const (
	authenticationConfig = "kas-authentication-config"
	authenticationFile   = "config.yaml"
	trustBundleKey       = "ca-bundle.crt"
)

func hasProvider(env *target.ControlPlane) bool {
	a := configuration(env).Authentication
	return a != nil && a.Type == configv1.AuthenticationTypeOIDC && len(a.OIDCProviders) > 0
}

// adaptAuthentication converts the user's providers to Kubernetes' configuration. The API server reloads the file when
// it changes.
func adaptAuthentication(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	config := authenticationConfiguration{APIVersion: "apiserver.config.k8s.io/v1", Kind: "AuthenticationConfiguration"}
	providers := configuration(env).Authentication.OIDCProviders
	throughTunnels, err := apiserverconfig.InClusterNetwork(env.HCP.Annotations, providers)
	if err != nil {
		return err
	}
	for _, provider := range providers {
		jwt, err := authenticator(env, provider)
		if slices.Contains(throughTunnels, provider.Name) {
			jwt.Issuer.EgressSelectorType = "cluster"
		}
		if err != nil {
			return fmt.Errorf("configuration.authentication.oidcProviders has %s: %w", provider.Name, err)
		}
		config.JWT = append(config.JWT, jwt)
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the authentication configuration: %w", err)
	}
	cm.Data = map[string]string{authenticationFile: string(text)}
	return nil
}

func authenticator(env *target.ControlPlane, p configv1.OIDCProvider) (jwtAuthenticator, error) {
	jwt := jwtAuthenticator{Issuer: issuer{URL: p.Issuer.URL, DiscoveryURL: p.Issuer.DiscoveryURL, AudienceMatchPolicy: "MatchAny"}}
	for _, audience := range p.Issuer.Audiences {
		jwt.Issuer.Audiences = append(jwt.Issuer.Audiences, string(audience))
	}
	if name := p.Issuer.CertificateAuthority.Name; name != "" {
		jwt.Issuer.CertificateAuthority = env.ConfigMapData(name, trustBundleKey)
		if jwt.Issuer.CertificateAuthority == "" {
			return jwt, fmt.Errorf("its certificate authority, ConfigMap %s with key %s, does not exist", name, trustBundleKey)
		}
	}
	if err := apiserverconfig.CheckOIDCProvider(p); err != nil {
		return jwt, err
	}
	for _, rule := range p.ClaimValidationRules {
		if rule.Type == configv1.TokenValidationRuleTypeRequiredClaim && rule.RequiredClaim != nil {
			jwt.ClaimValidationRules = append(jwt.ClaimValidationRules, claimRule{Claim: rule.RequiredClaim.Claim, RequiredValue: rule.RequiredClaim.RequiredValue})
		} else {
			jwt.ClaimValidationRules = append(jwt.ClaimValidationRules, claimRule{Expression: rule.CEL.Expression, Message: rule.CEL.Message})
		}
	}
	for _, rule := range p.UserValidationRules {
		jwt.UserValidationRules = append(jwt.UserValidationRules, expressionOfUser(rule))
	}
	jwt.ClaimMappings = mappings(p)
	return jwt, nil
}

func mappings(p configv1.OIDCProvider) claimMappings {
	m := claimMappings{Username: username(p)}
	if g := p.ClaimMappings.Groups; g.Claim != "" || g.Expression != "" {
		m.Groups = &mapping{Claim: g.Claim, Expression: g.Expression}
		if g.Expression == "" {
			m.Groups.Prefix = &g.Prefix
		}
	}
	if uid := p.ClaimMappings.UID; uid != nil {
		m.UID = &mapping{Claim: uid.Claim, Expression: uid.Expression}
	}
	for _, extra := range p.ClaimMappings.Extra {
		m.Extra = append(m.Extra, extraMapping(extra))
	}
	return m
}

// username prefixes the users of a provider to separate them from other users of the same name, unless the user sets the
// prefix. An e-mail address is unique without a prefix.
func username(p configv1.OIDCProvider) mapping {
	u := p.ClaimMappings.Username
	if u.Expression != "" {
		return mapping{Expression: u.Expression}
	}
	prefix := ""
	switch {
	case u.PrefixPolicy == configv1.Prefix && u.Prefix != nil:
		prefix = u.Prefix.PrefixString
	case u.PrefixPolicy == configv1.NoOpinion && u.Claim != "email":
		prefix = p.Issuer.URL + "#"
	}
	return mapping{Claim: u.Claim, Prefix: &prefix}
}

// addAuthentication configures the validation of tokens that the cluster has not issued.
func addAuthentication(env *target.ControlPlane, p *pod) error {
	a := configuration(env).Authentication
	if hasProvider(env) {
		p.arg("--authentication-config=" + p.mountConfigMap("authentication", authenticationConfig) + "/" + authenticationFile)
	} else if a != nil && a.WebhookTokenAuthenticator != nil && a.WebhookTokenAuthenticator.KubeConfig.Name != "" {
		dir := p.mountSecret("authentication", a.WebhookTokenAuthenticator.KubeConfig.Name)
		p.arg("--authentication-token-webhook-config-file="+dir+"/"+configv1.KubeConfigKey, "--authentication-token-webhook-version=v1")
	}
	return nil
}
