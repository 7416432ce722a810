package hostedcluster

import (
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// checkServices judges how the control plane is published.
func checkServices(hc *hyperv1.HostedCluster) []problem {
	problems := append(checkOnce(hc), checkNodePorts(hc)...)
	if hc.Spec.Platform.Type == hyperv1.AWSPlatform {
		return append(problems, checkAWSPublishing(hc)...)
	}
	return append(problems, checkPublishing(hc)...)
}

// checkOnce wants each service, each host name and each node port once.
func checkOnce(hc *hyperv1.HostedCluster) []problem {
	var problems []problem
	count, hosts, ports := map[hyperv1.ServiceType]int{}, map[string][]string{}, map[int32][]string{}
	for _, svc := range hc.Spec.Services {
		count[svc.Service]++
		if count[svc.Service] == 2 {
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services lists %s more than once: leave one of them", svc.Service))
		}
		if host := svc.ServicePublishingStrategy.Hostname(); host != "" {
			hosts[host] = append(hosts[host], string(svc.Service))
		}
		if chosen := svc.ServicePublishingStrategy.NodePort; chosen != nil && chosen.Port != 0 && slices.Contains(withNodePort, svc.Service) {
			ports[chosen.Port] = append(ports[chosen.Port], string(svc.Service))
		}
	}
	for _, host := range sortedKeys(hosts) {
		if users := hosts[host]; len(users) > 1 {
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services gives host name %s to %s: give each its own", host, strings.Join(users, " and ")))
		}
	}
	for _, port := range sortedKeys(ports) {
		if users := ports[port]; len(users) > 1 {
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services gives node port %d to %s: give each its own, or none to have one chosen", port, strings.Join(users, " and ")))
		}
	}
	return problems
}

// withNodePort are the services that can have one.
var withNodePort = []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.Konnectivity}

// behindRouter are the services that the router of an AWS cluster serves.
var behindRouter = []hyperv1.ServiceType{hyperv1.Konnectivity, hyperv1.Ignition, hyperv1.OAuthServer}

// checkAWSPublishing knows what works on AWS: nodes reach everything but the
// API server through the router, and the router tells the API server from the
// rest by a host name, which therefore must be known.
func checkAWSPublishing(hc *hyperv1.HostedCluster) []problem {
	var problems []problem
	api := false
	for _, svc := range hc.Spec.Services {
		switch p := svc.ServicePublishingStrategy; {
		case svc.Service == hyperv1.APIServer:
			api = true
			if p.Type == hyperv1.LoadBalancer || p.Type == hyperv1.Route && p.Hostname() != "" {
				continue
			}
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason,
				"spec.services publishes APIServer as %s: on AWS use LoadBalancer, or Route with a hostname", describe(p)))
		case slices.Contains(behindRouter, svc.Service) && p.Type != hyperv1.Route:
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services publishes %s as %s: on AWS use Route", svc.Service, p.Type))
		}
	}
	if !api {
		problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services does not say how APIServer is published: add it"))
	}
	return problems
}

// checkPublishing knows what can be reached at all. Of the services only two are
// served in Kubernetes: how the others are published makes no difference.
func checkPublishing(hc *hyperv1.HostedCluster) []problem {
	var problems []problem
	for _, service := range withNodePort {
		p := hyperv1.PublishingOf(hc.Spec.Services, service)
		if p.Type != "" && !slices.Contains([]hyperv1.PublishingStrategyType{hyperv1.LoadBalancer, hyperv1.NodePort, hyperv1.Route}, p.Type) {
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services publishes %s as %s: use LoadBalancer, NodePort or Route", service, p.Type))
		}
	}
	switch api := hyperv1.PublishingOf(hc.Spec.Services, hyperv1.APIServer); {
	case api.Type == "":
		problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services does not say how APIServer is published: add it"))
	case api.Type == hyperv1.Route && api.Hostname() == "":
		problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason, "spec.services publishes APIServer as Route without a hostname: add it, by which the router tells it from the rest"))
	case api.Type == hyperv1.NodePort && hc.Spec.Networking.APIServer != nil && len(hc.Spec.Networking.APIServer.AllowedCIDRBlocks) > 0:
		problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason,
			"networking.apiServer.allowedCIDRBlocks says who may reach the load balancer of APIServer, which is published as NodePort and open to whoever reaches a node: remove it, or publish APIServer as LoadBalancer or Route"))
	}
	return problems
}

func describe(p hyperv1.ServicePublishingStrategy) string {
	if p.Type == hyperv1.Route {
		return "Route without a hostname"
	}
	return string(p.Type)
}
