package router

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// A rule leads a host to a server.
type rule struct {
	host string
	// service names the backend, and address is where that is.
	service, address string
}

// hostname is all that gets into the configuration of what others have written.
var hostname = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// served are the rules of the Routes that are ours, by host. One whose Service is
// not there yet comes later; of two with the same host the first by name counts.
func served(env *component.Env) []rule {
	routes := slices.Clone(env.Routes)
	slices.SortFunc(routes, func(a, b routev1.Route) int { return strings.Compare(a.Name, b.Name) })
	var rules []rule
	for _, route := range routes {
		host := strings.ToLower(route.Spec.Host)
		taken := slices.ContainsFunc(rules, func(r rule) bool { return r.host == host })
		to := addressOf(env.Services[route.Spec.To.Name], route.Spec.Port)
		if route.Labels[hyperv1.HCPRouteLabel] != env.HCP.Namespace || !hostname.MatchString(host) || taken || to == "" {
			continue
		}
		rules = append(rules, rule{host: host, service: route.Spec.To.Name, address: to})
	}
	slices.SortFunc(rules, func(a, b rule) int { return strings.Compare(a.host, b.host) })
	return rules
}

// addressOf is where a Service is, by number: the name of a Service would have
// to be looked up while nobody can get in.
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
