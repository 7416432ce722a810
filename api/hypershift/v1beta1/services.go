package v1beta1

// ServiceType names an endpoint of the control plane that somebody outside of it must reach.
//
// +kubebuilder:validation:Enum=APIServer;OAuthServer;OIDC;Konnectivity;Ignition;OVNSbDb
type ServiceType string

const (
	// APIServer is the Kubernetes API of the hosted cluster.
	APIServer ServiceType = "APIServer"
	// OAuthServer is where users log in, if the release has a server for that; releases of Kubernetes have none.
	OAuthServer ServiceType = "OAuthServer"
	// Konnectivity is where the nodes' tunnel agents connect to.
	Konnectivity ServiceType = "Konnectivity"
	// Ignition is accepted for the sake of old manifests and has no effect: new nodes get their configuration from their cloud.
	Ignition ServiceType = "Ignition"
	// OIDC is accepted for the sake of old manifests and has no effect.
	OIDC ServiceType = "OIDC"
	// OVNSbDb is accepted for the sake of old manifests and has no effect.
	OVNSbDb ServiceType = "OVNSbDb"
)

// PublishingStrategyType is a way to make a service reachable.
//
// +kubebuilder:validation:Enum=LoadBalancer;NodePort;Route;None;S3
type PublishingStrategyType string

const (
	// LoadBalancer gives the service a load balancer of its own.
	LoadBalancer PublishingStrategyType = "LoadBalancer"
	// NodePort exposes the service on a port of the management cluster's nodes.
	NodePort PublishingStrategyType = "NodePort"
	// Route sends the service through the router of the control plane, which tells services apart by host name.
	Route PublishingStrategyType = "Route"
	// S3 publishes documents in a bucket.
	S3 PublishingStrategyType = "S3"
	// None does not publish the service.
	None PublishingStrategyType = "None"
)

// ServicePublishingStrategyMapping says how one service is published.
type ServicePublishingStrategyMapping struct {
	// service is the endpoint being published. Each service is listed once.
	//
	// +required
	Service ServiceType `json:"service,omitempty"`

	// servicePublishingStrategy is how clients reach the service.
	//
	// +required
	ServicePublishingStrategy ServicePublishingStrategy `json:"servicePublishingStrategy,omitzero"`
}

// ServicePublishingStrategy is one way to reach a service, with the settings of that way and of no other.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' ? has(self.nodePort) : !has(self.nodePort)",message="nodePort is required when type is NodePort, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'Route' || !has(self.route)",message="route is forbidden unless type is Route"
// +kubebuilder:validation:XValidation:rule="self.type == 'LoadBalancer' || !has(self.loadBalancer)",message="loadBalancer is forbidden unless type is LoadBalancer"
type ServicePublishingStrategy struct {
	// type is the way the service is published.
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

// Hostname is the name under which the service is to be found; empty if the user leaves that to us, or if the type has none.
func (s ServicePublishingStrategy) Hostname() string {
	switch {
	case s.Type == Route && s.Route != nil:
		return s.Route.Hostname
	case s.Type == LoadBalancer && s.LoadBalancer != nil:
		return s.LoadBalancer.Hostname
	}
	return ""
}

// Chosen is the name or address by which the user has decided that clients reach the service; empty if he leaves that to us.
func (s ServicePublishingStrategy) Chosen() string {
	if s.Type == NodePort && s.NodePort != nil {
		return s.NodePort.Address
	}
	return s.Hostname()
}

// PublishingOf is how a service is published; its type is empty if the service is not listed.
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
	// hostname is the name under which clients reach the load balancer. Without it they use the name the cloud gave it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a host name: dot-separated labels of lower-case letters, digits and dashes"
	Hostname string `json:"hostname,omitempty"`
}

// NodePortPublishingStrategy holds the settings of a service on a node port.
type NodePortPublishingStrategy struct {
	// address is the IP address or host name of the nodes, or of what stands in front of them.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || !format.dns1123Subdomain().validate(self).hasValue()",message="must be an IP address or a host name"
	Address string `json:"address,omitempty"`

	// port is the node port. 0 lets the management cluster choose.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// RoutePublishingStrategy holds the settings of a service behind the router.
type RoutePublishingStrategy struct {
	// hostname is the name under which clients reach the service. Without it a name is made under the ingress domain of the
	// management cluster.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a host name: dot-separated labels of lower-case letters, digits and dashes"
	Hostname string `json:"hostname,omitempty"`
}
