package validation

import (
	"net/netip"
	"slices"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

var servicesPath = spec.Child("services")

// services validates how the services of the control plane are published.
func services(hc *hyperv1.HostedCluster) field.ErrorList {
	s := hc.Spec.DeepCopy()
	s.Services = routes.WithHosts(hc.Name, &hc.Spec, false)
	errs := slices.Concat(uniqueServices(s.Services), hostLabels(s.Services), nodePorts(s.Services, s.Networking))
	errs = append(errs, sharedRouter(hc.Annotations[hyperv1.SharedRouterAnnotation], s)...)
	if s.Platform.Type == hyperv1.AWSPlatform {
		return append(errs, awsServices(s)...)
	}
	return append(errs, otherServices(s)...)
}

// uniqueServices rejects a service, a host name or a node port that is used twice.
func uniqueServices(list []hyperv1.ServicePublishingStrategyMapping) field.ErrorList {
	var errs field.ErrorList
	count, hosts, ports := map[hyperv1.ServiceType]int{}, map[string][]string{}, map[int32][]string{}
	for i, svc := range list {
		count[svc.Service]++
		if count[svc.Service] == 2 {
			errs = append(errs, publishing.duplicate(servicesPath.Index(i).Child("service"), svc.Service, "spec.services lists %s more than once: leave one of them", svc.Service))
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
			errs = append(errs, publishing.duplicate(servicesPath, host, "spec.services gives host name %s to %s: give each its own", host, strings.Join(users, " and ")))
		}
	}
	for _, port := range sortedKeys(ports) {
		if users := ports[port]; len(users) > 1 {
			errs = append(errs, publishing.duplicate(servicesPath, port, "spec.services gives node port %d to %s: give each its own, or none to have one chosen", port, strings.Join(users, " and ")))
		}
	}
	return errs
}

// hostLabels rejects a host name that DNS cannot have. Names with dns.baseDomain contain the name of the cluster. One record that Route 53 refuses
// can hold up the records of other clusters.
func hostLabels(list []hyperv1.ServicePublishingStrategyMapping) field.ErrorList {
	var errs field.ErrorList
	for i, svc := range list {
		host := svc.ServicePublishingStrategy.Hostname()
		for label := range strings.SplitSeq(host, ".") {
			if len(label) > utilvalidation.DNS1123LabelMaxLength {
				errs = append(errs, publishing.invalid(servicesPath.Index(i), host, "spec.services publishes %s as %s: %s has %d characters, and a label of a host name may have %d: set a shorter hostname",
					svc.Service, host, label, len(label), utilvalidation.DNS1123LabelMaxLength))
			}
		}
	}
	return errs
}

// withNodePort are the services that can have one.
var withNodePort = []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.Konnectivity}

// behindRouter are the services that the router of an AWS cluster serves.
var behindRouter = []hyperv1.ServiceType{hyperv1.Konnectivity, hyperv1.Ignition, hyperv1.OAuthServer}

// awsServices accepts strategies that work on AWS: nodes reach everything but the API
// server through the router, and the router recognizes the API server by a host
// name, which therefore must be known.
func awsServices(s *hyperv1.HostedClusterSpec) field.ErrorList {
	var errs field.ErrorList
	api, private := false, s.Platform.AWS != nil && s.Platform.AWS.EndpointAccess == hyperv1.Private
	for i, svc := range s.Services {
		at := servicesPath.Index(i).Child("servicePublishingStrategy", "type")
		switch p := svc.ServicePublishingStrategy; {
		case svc.Service == hyperv1.APIServer:
			api = true
			if p.Type == hyperv1.LoadBalancer || p.Type == hyperv1.Route && (p.Hostname() != "" || private) {
				continue
			}
			errs = append(errs, publishing.unsupported(at, p.Type,
				"spec.services publishes APIServer as %s: on AWS use LoadBalancer, or Route with a hostname or with dns.baseDomain", describe(p)))
		case slices.Contains(behindRouter, svc.Service) && p.Type != hyperv1.Route:
			errs = append(errs, publishing.unsupported(at, p.Type, "spec.services publishes %s as %s: on AWS use Route", svc.Service, p.Type))
		}
	}
	if !api {
		errs = append(errs, apiServerMissing())
	}
	return errs
}

func apiServerMissing() *field.Error {
	return publishing.required(servicesPath, "spec.services does not say how APIServer is published: add it")
}

// otherServices accepts strategies that can be reached outside of AWS. Kubernetes needs only
// two of the services: how the others are published makes no difference.
func otherServices(s *hyperv1.HostedClusterSpec) field.ErrorList {
	var errs field.ErrorList
	for _, service := range withNodePort {
		p := hyperv1.PublishingOf(s.Services, service)
		if p.Type != "" && !slices.Contains([]hyperv1.PublishingStrategyType{hyperv1.LoadBalancer, hyperv1.NodePort, hyperv1.Route}, p.Type) {
			errs = append(errs, publishing.unsupported(servicesPath, p.Type, "spec.services publishes %s as %s: use LoadBalancer, NodePort or Route", service, p.Type))
		}
	}
	switch api := hyperv1.PublishingOf(s.Services, hyperv1.APIServer); {
	case api.Type == "":
		errs = append(errs, apiServerMissing())
	case api.Type == hyperv1.Route && api.Hostname() == "":
		errs = append(errs, publishing.required(servicesPath, "spec.services publishes APIServer as Route without a hostname: add it, or dns.baseDomain, by which the router recognizes its connections"))
	case api.Type == hyperv1.NodePort && s.Networking.APIServer != nil && len(s.Networking.APIServer.AllowedCIDRBlocks) > 0:
		errs = append(errs, publishing.forbidden(spec.Child("networking", "apiServer", "allowedCIDRBlocks"),
			"networking.apiServer.allowedCIDRBlocks says who may reach the load balancer of APIServer, which is published as NodePort and open to whoever reaches a node: remove it, or publish APIServer as LoadBalancer or Route"))
	}
	return errs
}

// sharedRouter rejects what the shared router cannot serve. It finds the cluster of a node by its VPC endpoint: pods call the API server by
// names that all clusters have.
func sharedRouter(annotation string, s *hyperv1.HostedClusterSpec) field.ErrorList {
	if annotation != "true" {
		return nil
	}
	const asked = "annotation " + hyperv1.SharedRouterAnnotation + " is true"
	var errs field.ErrorList
	if !s.Platform.PrivateLink() {
		errs = append(errs, publishing.forbidden(spec.Child("platform"),
			asked+", and the shared router serves nodes that connect by PrivateLink: set platform.aws.endpointAccess to PublicAndPrivate or Private, or remove the annotation"))
	}
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.Konnectivity} {
		if how := hyperv1.PublishingOf(s.Services, service).Type; how != hyperv1.Route {
			errs = append(errs, publishing.unsupported(servicesPath, how, asked+", and spec.services publishes %s as %s: use Route, or remove the annotation", service, how))
		}
	}
	return errs
}

func describe(p hyperv1.ServicePublishingStrategy) string {
	if p.Type == hyperv1.Route {
		return "Route without a hostname"
	}
	return string(p.Type)
}

// nodePorts rejects addresses of nodes that are inside the hosted cluster.
func nodePorts(list []hyperv1.ServicePublishingStrategyMapping, networking hyperv1.ClusterNetworking) field.ErrorList {
	nets, _ := parseNetworks(networking)
	var errs field.ErrorList
	for i, svc := range list {
		port := svc.ServicePublishingStrategy.NodePort
		if port == nil {
			continue
		}
		address, err := netip.ParseAddr(port.Address)
		if err != nil {
			continue // a host name
		}
		for _, n := range nets {
			if n.name != machineNetwork && n.prefix.Contains(address) {
				errs = append(errs, overlap.invalid(servicesPath.Index(i).Child("servicePublishingStrategy", "nodePort", "address"), port.Address,
					"spec.services publishes %s at node address %s, which is inside %s %s: name an address at which nodes of the management cluster are reached", svc.Service, address, n.name, n.prefix))
			}
		}
	}
	return errs
}
