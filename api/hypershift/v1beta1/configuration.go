package v1beta1

import configv1 "github.com/openshift/api/config/v1"

// ClusterConfiguration is the global configuration of the hosted cluster. Each section is the spec of the resource
// with the same name in the API group config.openshift.io. Inside the cluster these resources are overwritten with
// this configuration.
type ClusterConfiguration struct {
	// apiServer configures the API server: serving certificates, audit, TLS profile, cross-origin requests. Encryption
	// of Secrets is configured in spec.secretEncryption.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.encryption) || !has(self.encryption.type) || self.encryption.type in ['', 'identity', 'aescbc', 'aesgcm', 'KMS']",message="encryption.type must be identity, aescbc, aesgcm or KMS"
	// +kubebuilder:validation:XValidation:rule="!has(self.encryption) || has(self.encryption.kms) == (has(self.encryption.type) && self.encryption.type == 'KMS')",message="encryption.kms is required when encryption.type is KMS, and forbidden otherwise"
	APIServer *configv1.APIServerSpec `json:"apiServer,omitempty"`

	// authentication configures how users log in: the integrated OAuth server, or an external OpenID Connect
	// provider.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type in ['', 'None', 'IntegratedOAuth', 'OIDC']",message="type must be None, IntegratedOAuth or OIDC"
	// +kubebuilder:validation:XValidation:rule="!has(self.oidcProviders) || self.oidcProviders.all(p, !has(p.issuer.discoveryURL) || size(p.issuer.discoveryURL) == 0 || p.issuer.discoveryURL.find('^.+[^/]') != p.issuer.issuerURL.find('^.+[^/]'))",message="the discoveryURL of an issuer must differ from its issuerURL"
	// +kubebuilder:validation:XValidation:rule="!has(self.oidcProviders) || self.oidcProviders.all(p, !has(p.claimMappings) || !has(p.claimMappings.username) || (has(p.claimMappings.username.claim) && size(p.claimMappings.username.claim) > 0) != (has(p.claimMappings.username.expression) && size(p.claimMappings.username.expression) > 0))",message="claimMappings.username needs either claim or expression"
	// +kubebuilder:validation:XValidation:rule="!has(self.oidcProviders) || self.oidcProviders.all(p, !has(p.claimMappings) || !has(p.claimMappings.username) || !has(p.claimMappings.username.expression) || size(p.claimMappings.username.expression) == 0 || !has(p.claimMappings.username.prefixPolicy) || p.claimMappings.username.prefixPolicy != 'Prefix')",message="claimMappings.username.prefixPolicy must not be Prefix when expression is set: the expression can add the prefix"
	// +kubebuilder:validation:XValidation:rule="!has(self.oidcProviders) || self.oidcProviders.all(p, !has(p.claimMappings) || !has(p.claimMappings.groups) || !has(p.claimMappings.groups.expression) || size(p.claimMappings.groups.expression) == 0 || ((!has(p.claimMappings.groups.claim) || size(p.claimMappings.groups.claim) == 0) && (!has(p.claimMappings.groups.prefix) || size(p.claimMappings.groups.prefix) == 0)))",message="claimMappings.groups has neither claim nor prefix when expression is set"
	// +kubebuilder:validation:XValidation:rule="!has(self.oidcProviders) || self.oidcProviders.all(p, !has(p.claimValidationRules) || p.claimValidationRules.all(r, r.type in ['RequiredClaim', 'CEL']))",message="the type of each of claimValidationRules must be RequiredClaim or CEL"
	// +kubebuilder:validation:XValidation:rule="!has(self.oidcProviders) || self.oidcProviders.all(p, !has(p.claimValidationRules) || p.claimValidationRules.all(r, has(r.cel) == (r.type == 'CEL')))",message="cel of claimValidationRules is required when type is CEL, and forbidden otherwise"
	Authentication *configv1.AuthenticationSpec `json:"authentication,omitempty"`

	// featureGate selects the feature set.
	//
	// +optional
	FeatureGate *configv1.FeatureGateSpec `json:"featureGate,omitempty"`

	// image configures the registries that images may come from.
	//
	// +optional
	Image *configv1.ImageSpec `json:"image,omitempty"`

	// ingress configures the routes of applications.
	//
	// +optional
	Ingress *configv1.IngressSpec `json:"ingress,omitempty"`

	// network configures external addresses and the range of node ports. The address ranges are in spec.networking, and are ignored here.
	//
	// +optional
	Network *configv1.NetworkSpec `json:"network,omitempty"`

	// oauth configures the integrated OAuth server.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.tokenConfig) || !has(self.tokenConfig.accessTokenInactivityTimeout) || duration(self.tokenConfig.accessTokenInactivityTimeout).getSeconds() >= 300",message="accessTokenInactivityTimeout must be at least 300 seconds"
	OAuth *configv1.OAuthSpec `json:"oauth,omitempty"`

	// operatorhub configures the default catalogs.
	//
	// +optional
	OperatorHub *configv1.OperatorHubSpec `json:"operatorhub,omitempty"`

	// scheduler configures the scheduler.
	//
	// +optional
	Scheduler *configv1.SchedulerSpec `json:"scheduler,omitempty"`

	// proxy is the proxy through which the cluster reaches external networks.
	//
	// +optional
	Proxy *configv1.ProxySpec `json:"proxy,omitempty"`
}

// ConfigurationStatus is the observed state of the configuration.
type ConfigurationStatus struct {
	// authentication is the state of the cluster's Authentication configuration.
	//
	// +optional
	Authentication *configv1.AuthenticationStatus `json:"authentication,omitempty"`
}
