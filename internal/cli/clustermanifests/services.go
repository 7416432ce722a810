package clustermanifests

import (
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// services returns how the control plane is published: with one load balancer for each path, if possible. Without a domain for public
// names, the load balancer of the public path is the API server's, which AWS names. A private cluster has names in its local zone.
func (c Cluster) services() []hyperv1.ServicePublishingStrategyMapping {
	route := func(service hyperv1.ServiceType, prefix string, public bool) hyperv1.ServicePublishingStrategyMapping {
		how := hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
		if c.ExternalDNSDomain != "" && public {
			how.Route = &hyperv1.RoutePublishingStrategy{Hostname: prefix + "-" + c.Name + "." + c.ExternalDNSDomain}
		}
		return hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: how}
	}
	api := hyperv1.ServicePublishingStrategyMapping{
		Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer},
	}
	if c.ExternalDNSDomain != "" || c.EndpointAccess == hyperv1.Private {
		api = route(hyperv1.APIServer, "api", true)
	}
	// Nodes of a cluster with a private endpoint reach these two through it, by names of the local zone.
	public := c.EndpointAccess == hyperv1.Public
	return []hyperv1.ServicePublishingStrategyMapping{
		api,
		route(hyperv1.Ignition, "ignition", public),
		route(hyperv1.Konnectivity, "konnectivity", public),
		route(hyperv1.OAuthServer, "oauth", true),
	}
}
