package hostedapi

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// A path is a network path of users or nodes to the API server.
type path struct {
	// name is the name of the Service or Route that publishes it.
	name string
	// address is the address that clients connect to. serverName is the name in the ClientHello and in the certificate.
	address, serverName string
	// inside is the address of the same Service within the management cluster. It is empty for a Route of the management
	// cluster's router.
	inside string
	// limited is true if the load balancer may be unreachable from the management cluster by design: it is in a private
	// network, or admits only some addresses.
	limited bool
}

// pathsOf returns the paths of a control plane that have addresses.
func pathsOf(hcp *hyperv1.HostedControlPlane, services []corev1.Service, routes []routev1.Route) []path {
	var out []path
	for i := range services {
		if p, ok := byService(hcp, &services[i], routes); ok {
			out = append(out, p)
		}
	}
	for _, route := range routes {
		// A router of the control plane serves the other Routes, and its Service is a path.
		if host := hostOf(route); route.Spec.To.Name == names.KubeAPIServer && route.Labels[hyperv1.HCPRouteLabel] == "" && host != "" {
			out = append(out, path{name: "Route " + route.Name, address: join(host, publishing.RouterPort), serverName: host})
		}
	}
	slices.SortFunc(out, func(a, b path) int { return cmp.Compare(a.name, b.name) })
	return out
}

// byService returns the path through a published Service. ok is false for other Services.
func byService(hcp *hyperv1.HostedControlPlane, svc *corev1.Service, routes []routev1.Route) (p path, ok bool) {
	if svc.Name == names.KubeAPIServer && sharedrouter.Serves(hcp) {
		return bySharedRouter(hcp, svc)
	}
	how := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer)
	host := publishing.LoadBalancerAddress(svc)
	p = path{name: "Service " + svc.Name}
	switch svc.Name {
	case names.KubeAPIServer:
		p.serverName = cmp.Or(how.Hostname(), host)
		p.limited = len(svc.Spec.LoadBalancerSourceRanges) > 0
	case names.KubeAPIServerPrivate:
		p.serverName, p.limited = names.LocalAPI(hcp.Name), true
	case names.Router:
		p.serverName, p.limited = behindRouter(routes, false), len(svc.Spec.LoadBalancerSourceRanges) > 0
	case names.PrivateRouter:
		p.serverName, p.limited = behindRouter(routes, true), true
	default:
		return path{}, false
	}
	if len(svc.Spec.Ports) == 0 {
		return path{}, false
	}
	port := svc.Spec.Ports[0]
	switch {
	case svc.Spec.Type == corev1.ServiceTypeNodePort && svc.Name == names.KubeAPIServer:
		host, p.serverName = how.Chosen(), how.Chosen()
		p.address = join(host, port.NodePort)
	case svc.Spec.Type == corev1.ServiceTypeLoadBalancer:
		p.address = join(host, port.Port)
	default:
		return path{}, false
	}
	if ip := svc.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		p.inside = join(ip, port.Port)
	}
	return p, host != "" && p.serverName != ""
}

// bySharedRouter returns the path through the public load balancer of the shared router. The internal one admits only endpoints, so that a
// private cluster is checked at its Service.
func bySharedRouter(hcp *hyperv1.HostedControlPlane, svc *corev1.Service) (p path, ok bool) {
	if len(svc.Spec.Ports) == 0 || svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return path{}, false
	}
	inside := join(svc.Spec.ClusterIP, svc.Spec.Ports[0].Port)
	host := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer).Hostname()
	if host == "" || hcp.ServedAccess() == hyperv1.Private {
		return path{name: "Service " + svc.Name, address: inside, serverName: names.LocalAPI(hcp.Name)}, true
	}
	limited := hcp.Spec.Networking.APIServer != nil && len(hcp.Spec.Networking.APIServer.AllowedCIDRBlocks) > 0
	return path{name: "Service " + sharedrouter.Public, address: join(sharedrouter.Of(hcp).Public, sharedrouter.Port), serverName: host, inside: inside, limited: limited}, true
}

// behindRouter returns the API server's host at a router of the control plane, for clients inside the VPC of the nodes
// or for others.
func behindRouter(routes []routev1.Route, internal bool) string {
	for _, route := range routes {
		owned := route.Labels[hyperv1.HCPRouteLabel] != "" && route.Spec.To.Name == names.KubeAPIServer
		if owned && (route.Labels[hyperv1.InternalRouteLabel] == "true") == internal && hostOf(route) != "" {
			return hostOf(route)
		}
	}
	return ""
}

func hostOf(route routev1.Route) string {
	host := route.Spec.Host
	for _, in := range route.Status.Ingress {
		host = cmp.Or(host, in.Host)
	}
	return host
}

func join(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
