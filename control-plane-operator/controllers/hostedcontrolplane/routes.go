package hostedcontrolplane

import (
	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// balanceAnnotation spreads the tunnels of the nodes over all servers.
const balanceAnnotation = "haproxy.router.openshift.io/balance"

// desiredRoutes returns the Routes of the control plane. The internal ones are for clients inside the VPC of the workers.
// Konnectivity has Routes only for the paths that nodes use, because only nodes use it.
func desiredRoutes(hcp *hyperv1.HostedControlPlane, a access) []client.Object {
	var out []client.Object
	if a.apiRoute {
		if a.apiHostname != "" { // else the cluster is private, with a name in its local zone
			out = append(out, outside(hcp, a, names.KubeAPIServer, names.KubeAPIServer, a.apiHostname))
		}
		if a.private {
			out = append(out, inside(hcp, names.KubeAPIServer+"-internal", names.KubeAPIServer, names.LocalAPI(hcp.Name)))
		}
	}
	if how := a.services[hyperv1.Konnectivity]; how.Type == hyperv1.Route {
		for i, path := range a.tunnels {
			if path == hyperv1.Public && a.tunnelsByAPI {
				continue
			}
			out = append(out, tunnelRoute(hcp, a, path, i > 0, how.Hostname()))
		}
	}
	return out
}

// tunnelRoute returns the Route of konnectivity for nodes on a path. Its name does not depend on the access mode, except for
// the former path of a mode that changes.
func tunnelRoute(hcp *hyperv1.HostedControlPlane, a access, path hyperv1.AWSEndpointAccessType, former bool, host string) *routev1.Route {
	name := names.KonnectivityServer
	if former {
		name += "-former"
	}
	var route *routev1.Route
	if path == hyperv1.Private {
		route = inside(hcp, name, names.KonnectivityServer, names.LocalApp(hcp.Name, names.KonnectivityServer))
	} else {
		route = outside(hcp, a, name, names.KonnectivityServer, host)
	}
	route.Annotations[balanceAnnotation] = "roundrobin"
	return route
}

// outside returns a Route for public clients. In a private cluster it is for clients with their own connection to the
// VPC, and has another name.
func outside(hcp *hyperv1.HostedControlPlane, a access, name, service, host string) *routev1.Route {
	if !a.public {
		r := inside(hcp, name+"-private", service, host)
		r.Labels[hyperv1.RouteVisibilityLabel] = "private"
		return r
	}
	r := route(hcp, name, service, host)
	if a.ownRouter {
		r.Labels[hyperv1.HCPRouteLabel] = hcp.Namespace
	}
	return r
}

// inside returns a Route of the private router.
func inside(hcp *hyperv1.HostedControlPlane, name, service, host string) *routev1.Route {
	r := route(hcp, name, service, host)
	r.Labels[hyperv1.HCPRouteLabel] = hcp.Namespace
	r.Labels[hyperv1.InternalRouteLabel] = "true"
	return r
}

// route returns a Route that passes TLS through, because certificates stay with the servers.
func route(hcp *hyperv1.HostedControlPlane, name, service, host string) *routev1.Route {
	return &routev1.Route{ObjectMeta: metadata(hcp, name), Spec: routev1.RouteSpec{
		Host: host,
		To:   routev1.RouteTargetReference{Kind: "Service", Name: service},
		Port: &routev1.RoutePort{TargetPort: intstr.FromString("https")},
		TLS:  &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough, InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyNone},
	}}
}
