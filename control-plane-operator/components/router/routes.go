package router

import (
	"net"
	"slices"
	"strconv"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/haproxy"
)

// A rule routes a host to a server.
type rule struct {
	host string
	// service is the name of the backend, and address its address.
	service, address string
}

// served returns the rules of the router's Routes, by host. A Route without an existing Service is skipped. Of two
// Routes with the same host the first by name counts.
func served(env *target.ControlPlane) []rule {
	routes := slices.Clone(env.Routes)
	slices.SortFunc(routes, func(a, b routev1.Route) int { return strings.Compare(a.Name, b.Name) })
	var rules []rule
	for _, route := range routes {
		host := strings.ToLower(route.Spec.Host)
		taken := slices.ContainsFunc(rules, func(r rule) bool { return r.host == host })
		to := addressOf(env.Services[route.Spec.To.Name], route.Spec.Port)
		if route.Labels[hyperv1.HCPRouteLabel] != env.HCP.Namespace || !haproxy.ServesHost(host) || taken || to == "" {
			continue
		}
		rules = append(rules, rule{host: host, service: route.Spec.To.Name, address: to})
	}
	slices.SortFunc(rules, func(a, b rule) int { return strings.Compare(a.host, b.host) })
	return rules
}

// addressOf returns the IP address of a Service: a name would have to be resolved while the router cannot serve.
func addressOf(service *corev1.Service, want *routev1.RoutePort) string {
	if service == nil || service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone || len(service.Spec.Ports) == 0 {
		return ""
	}
	port := service.Spec.Ports[0]
	for _, p := range service.Spec.Ports {
		if want != nil && (p.Name == want.TargetPort.StrVal || want.TargetPort.Type == intstr.Int && p.Port == want.TargetPort.IntVal) {
			port = p
		}
	}
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port.Port)))
}
