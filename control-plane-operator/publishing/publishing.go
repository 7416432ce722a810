// Package publishing resolves the address under which clients reach a service that a control plane publishes.
//
//	LoadBalancer   hostname from the spec, or of the load balancer; port of the Service
//	NodePort       address from the spec; node port from the spec, or the allocated one
//	Route          host of the Route; port of the router
//
// Konnectivity as Route without a host name has no Route if the API server has a load balancer that nodes reach: it is another port of that.
package publishing

import (
	"cmp"
	"context"
	"fmt"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// RouterPort is the port on which routers serve.
const RouterPort = 443

// TunnelPort is the name of the port of konnectivity in the Service of the API server.
const TunnelPort = "agents"

// Konnectivity returns the address of the konnectivity server for agents on nodes that use a path: Public or Private. The
// name is empty until it is published.
func Konnectivity(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane, path hyperv1.AWSEndpointAccessType) (target.Host, error) {
	how := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.Konnectivity)
	if how.Type == hyperv1.Route {
		at, err := routeAddress(ctx, c, hcp.Namespace, names.KonnectivityServer, path == hyperv1.Private)
		if err != nil || at.Name != "" || path == hyperv1.Private {
			return at, err
		}
		return tunnelPortAddress(ctx, c, hcp)
	}
	return ServiceAddress(ctx, c, client.ObjectKey{Namespace: hcp.Namespace, Name: names.KonnectivityServer}, how)
}

// ServiceAddress returns the address of a Service that is published without a router.
func ServiceAddress(ctx context.Context, c client.Reader, key client.ObjectKey, how hyperv1.ServicePublishingStrategy) (target.Host, error) {
	service := &corev1.Service{}
	if err := c.Get(ctx, key, service); client.IgnoreNotFound(err) != nil {
		return target.Host{}, fmt.Errorf("resolving the address of Service %s: %w", key.Name, err)
	}
	if len(service.Spec.Ports) == 0 {
		return target.Host{}, nil // not created yet
	}
	port := service.Spec.Ports[0]
	switch {
	case how.Type == hyperv1.LoadBalancer:
		return target.Host{Name: cmp.Or(how.Hostname(), LoadBalancerAddress(service)), Port: port.Port}, nil
	case how.Type == hyperv1.NodePort && port.NodePort != 0:
		return target.Host{Name: how.Chosen(), Port: port.NodePort}, nil
	}
	return target.Host{}, nil
}

// tunnelPortAddress returns the address of konnectivity as a port of the Service of the API server, if it is one.
func tunnelPortAddress(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane) (target.Host, error) {
	service := &corev1.Service{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: names.KubeAPIServer}, service); client.IgnoreNotFound(err) != nil {
		return target.Host{}, fmt.Errorf("resolving the address of konnectivity: %w", err)
	}
	for _, port := range service.Spec.Ports {
		if port.Name == TunnelPort {
			return target.Host{Name: cmp.Or(hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer).Hostname(), LoadBalancerAddress(service)), Port: port.Port}, nil
		}
	}
	return target.Host{}, nil
}

// LoadBalancerAddress returns the hostname or IP address of the load balancer of a Service, or "".
func LoadBalancerAddress(service *corev1.Service) string {
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	first := service.Status.LoadBalancer.Ingress[0]
	return cmp.Or(first.Hostname, first.IP)
}

// routeAddress returns the host of the Route to a Service, inside the VPC of the nodes or for public clients.
func routeAddress(ctx context.Context, c client.Reader, namespace, service string, internal bool) (target.Host, error) {
	list := &routev1.RouteList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return target.Host{}, fmt.Errorf("listing Routes: %w", err)
	}
	for _, route := range list.Items {
		if route.Spec.To.Name != service || (route.Labels[hyperv1.InternalRouteLabel] == "true") != internal {
			continue
		}
		host := route.Spec.Host
		for _, in := range route.Status.Ingress {
			host = cmp.Or(host, in.Host)
		}
		if host != "" {
			return target.Host{Name: host, Port: RouterPort}, nil
		}
	}
	return target.Host{}, nil
}
