// Package routes defines the host names of the Routes for which the user has not set one, and the domain of applications.
//
//	service        default                             without the default
//	APIServer      api.<domain>                        public clusters cannot be created; private ones have their local name
//	Konnectivity   konnectivity.<domain>               nodes with a public path cannot connect
//	OAuthServer    -                                   no Route
//
// If the API server has a load balancer, konnectivity has no default: nodes reach it at another port of the load balancer, without a
// record in DNS.
//
// The domain is <baseDomainPrefix>.<baseDomain>. The default of the prefix is the name of the cluster. A management cluster
// that serves Routes itself, such as OpenShift, assigns host names to Routes without one, and keeps doing so.
package routes

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Served reports whether the management cluster serves Routes. The kind Route is no evidence: the chart installs it where it
// is missing.
func Served(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "operator.openshift.io", Kind: "IngressController"}, "v1")
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("finding out whether the management cluster serves Routes: %w", err)
	}
	return true, nil
}

// Domain returns the domain of the host names of a cluster, or "" if it has none.
func Domain(cluster string, dns hyperv1.DNSSpec) string {
	prefix := cluster
	if dns.BaseDomainPrefix != nil {
		prefix = *dns.BaseDomainPrefix
	}
	if dns.BaseDomain == "" || prefix == "" {
		return dns.BaseDomain
	}
	return prefix + "." + dns.BaseDomain
}

// Applications returns the domain of the applications of a cluster, such as apps.example.example.com, or "" if it has none.
func Applications(cluster string, dns hyperv1.DNSSpec, configuration *hyperv1.ClusterConfiguration) string {
	if configuration != nil && configuration.Ingress != nil && configuration.Ingress.Domain != "" {
		return configuration.Ingress.Domain
	}
	domain := Domain(cluster, dns)
	if domain == "" {
		return ""
	}
	return "apps." + domain
}

// WithHosts returns the services of a cluster with the default host names of Routes. served is true if the management cluster
// serves Routes itself.
func WithHosts(cluster string, spec *hyperv1.HostedClusterSpec, served bool) []hyperv1.ServicePublishingStrategyMapping {
	services := slices.Clone(spec.Services)
	domain := Domain(cluster, spec.DNS)
	if domain == "" {
		return services
	}
	api := hyperv1.PublishingOf(services, hyperv1.APIServer).Type
	ownRouter, balanced := !served || api == hyperv1.Route, api == hyperv1.LoadBalancer
	for i := range services {
		how := &services[i].ServicePublishingStrategy
		if how.Type != hyperv1.Route || how.Hostname() != "" {
			continue
		}
		switch service := services[i].Service; {
		case service == hyperv1.APIServer && public(spec.Platform):
			how.Route = &hyperv1.RoutePublishingStrategy{Hostname: "api." + domain}
		case service == hyperv1.Konnectivity && ownRouter && !balanced && spec.Platform.NodeAccess() == hyperv1.Public:
			how.Route = &hyperv1.RoutePublishingStrategy{Hostname: "konnectivity." + domain}
		}
	}
	return services
}

// Keep gives Routes of konnectivity without a host name the former one.
func Keep(services, former []hyperv1.ServicePublishingStrategyMapping) {
	host := hyperv1.PublishingOf(former, hyperv1.Konnectivity).Hostname()
	for i := range services {
		how := &services[i].ServicePublishingStrategy
		if services[i].Service == hyperv1.Konnectivity && how.Type == hyperv1.Route && how.Hostname() == "" && host != "" {
			how.Route = &hyperv1.RoutePublishingStrategy{Hostname: host}
		}
	}
}

// public reports whether users reach the API server without a connection to the VPC of the nodes.
func public(p hyperv1.PlatformSpec) bool {
	return p.Type != hyperv1.AWSPlatform || p.AWS == nil || p.AWS.EndpointAccess != hyperv1.Private
}
