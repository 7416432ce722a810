package v1beta1

import configv1 "github.com/openshift/api/config/v1"

// ClusterConfiguration is the global configuration of the hosted cluster. Each section is the spec of the resource
// with the same name in the API group config.openshift.io. Inside the cluster these resources are overwritten with
// this configuration.
type ClusterConfiguration struct {
	// apiServer configures the API server: serving certificates, audit, TLS profile, cross-origin requests.
	//
	// +optional
	APIServer *configv1.APIServerSpec `json:"apiServer,omitempty"`

	// authentication configures how users log in: the integrated OAuth server, or an external OpenID Connect
	// provider.
	//
	// +optional
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
