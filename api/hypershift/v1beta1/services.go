package v1beta1

// ServiceType is an endpoint of the control plane that clients outside of it connect to.
//
// +kubebuilder:validation:Enum=APIServer;OAuthServer;OIDC;Konnectivity;Ignition;OVNSbDb
type ServiceType string

const (
	// APIServer is the Kubernetes API of the hosted cluster.
	APIServer ServiceType = "APIServer"
	// OAuthServer is the server for users' logins, if the release has one. Releases of Kubernetes have none.
	OAuthServer ServiceType = "OAuthServer"
	// Konnectivity is the server for the tunnel agents of the nodes.
	Konnectivity ServiceType = "Konnectivity"
	// Ignition is accepted for compatibility with old manifests and has no effect. New nodes get their configuration
	// from their cloud.
	Ignition ServiceType = "Ignition"
	// OIDC is accepted for compatibility with old manifests and has no effect.
	OIDC ServiceType = "OIDC"
	// OVNSbDb is accepted for compatibility with old manifests and has no effect.
	OVNSbDb ServiceType = "OVNSbDb"
)

// PublishingStrategyType is a way to publish a service.
//
// +kubebuilder:validation:Enum=LoadBalancer;NodePort;Route;None;S3
type PublishingStrategyType string

const (
	// LoadBalancer creates a load balancer for the service.
	LoadBalancer PublishingStrategyType = "LoadBalancer"
	// NodePort exposes the service on a port of the management cluster's nodes.
	NodePort PublishingStrategyType = "NodePort"
	// Route publishes the service through the router of the control plane, which distinguishes services by host name.
	Route PublishingStrategyType = "Route"
	// S3 publishes documents in a bucket.
	S3 PublishingStrategyType = "S3"
	// None does not publish the service.
	None PublishingStrategyType = "None"
)

// ServicePublishingStrategyMapping defines how one service is published.
type ServicePublishingStrategyMapping struct {
	// service is the published endpoint. Each service is listed once.
	//
	// +required
	Service ServiceType `json:"service,omitempty"`

	// servicePublishingStrategy defines how clients reach the service.
	//
	// +required
	ServicePublishingStrategy ServicePublishingStrategy `json:"servicePublishingStrategy,omitzero"`
}

// ServicePublishingStrategy is one way to publish a service, with the settings of this way only.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' ? has(self.nodePort) : !has(self.nodePort)",message="nodePort is required when type is NodePort, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'Route' || !has(self.route)",message="route is forbidden unless type is Route"
// +kubebuilder:validation:XValidation:rule="self.type == 'LoadBalancer' || !has(self.loadBalancer)",message="loadBalancer is forbidden unless type is LoadBalancer"
type ServicePublishingStrategy struct {
	// type is the way in which the service is published.
	//
	// +required
	Type PublishingStrategyType `json:"type,omitempty"`

	// loadBalancer holds the settings of a service of type LoadBalancer.
	//
	// +optional
	LoadBalancer *LoadBalancerPublishingStrategy `json:"loadBalancer,omitempty"`

	// nodePort holds the settings of a service of type NodePort.
	//
	// +optional
	NodePort *NodePortPublishingStrategy `json:"nodePort,omitempty"`

	// route holds the settings of a service of type Route.
	//
	// +optional
	Route *RoutePublishingStrategy `json:"route,omitempty"`
}

// Hostname returns the host name of the service. It is empty if the user has not set one, or if the type has none.
func (s ServicePublishingStrategy) Hostname() string {
	switch {
	case s.Type == Route && s.Route != nil:
		return s.Route.Hostname
	case s.Type == LoadBalancer && s.LoadBalancer != nil:
		return s.LoadBalancer.Hostname
	}
	return ""
}

// Chosen returns the host name or address of the service that the user has set, or "".
func (s ServicePublishingStrategy) Chosen() string {
	if s.Type == NodePort && s.NodePort != nil {
		return s.NodePort.Address
	}
	return s.Hostname()
}

// PublishingOf returns how a service is published. Its type is empty if the service is not listed.
func PublishingOf(services []ServicePublishingStrategyMapping, service ServiceType) ServicePublishingStrategy {
	for _, m := range services {
		if m.Service == service {
			return m.ServicePublishingStrategy
		}
	}
	return ServicePublishingStrategy{}
}

// LoadBalancerPublishingStrategy holds the settings of a service with its own load balancer.
type LoadBalancerPublishingStrategy struct {
	// hostname is the DNS name with which clients reach the load balancer. The default is the name that the cloud
	// assigns.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a host name: dot-separated labels of lower-case letters, digits and dashes"
	Hostname string `json:"hostname,omitempty"`
}

// NodePortPublishingStrategy holds the settings of a service on a node port.
type NodePortPublishingStrategy struct {
	// address is the IP address or host name of the nodes, or of a load balancer in front of them.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || !format.dns1123Subdomain().validate(self).hasValue()",message="must be an IP address or a host name"
	Address string `json:"address,omitempty"`

	// port is the node port. With 0 the management cluster assigns one.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// RoutePublishingStrategy holds the settings of a service that the router publishes.
type RoutePublishingStrategy struct {
	// hostname is the DNS name with which clients reach the service. The default is a name under the ingress domain
	// of the management cluster.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a host name: dot-separated labels of lower-case letters, digits and dashes"
	Hostname string `json:"hostname,omitempty"`
}
