package hostedcontrolplane

import (
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// access holds all facts that decide how clients reach a control plane:
//
//	                         kube-apiserver   kube-apiserver-private  router   private-router
//	Public           LB      load balancer    -                       public*  -
//	Public           Route   ClusterIP        -                       public   -
//	PublicAndPrivate LB      load balancer    internal                -        internal
//	PublicAndPrivate Route   ClusterIP        -                       public   internal
//	Private          LB      ClusterIP        internal                -        internal
//	Private          Route   ClusterIP        -                       -        internal
//	Public           Node    node port        -                       public*  -
//
// While the access mode changes, the control plane is published as in PublicAndPrivate until no machine uses the path that
// the new mode does not have. Konnectivity has one Route for each path that nodes use.
//
// While the control plane sleeps, it may have no load balancers; see package target.
//
// With the shared router (package sharedrouter), a Route has neither router nor private-router: load balancers of the installation take their place.
//
// * if konnectivity is published by a Route and the management cluster does not serve Routes. With LB, the Route must also
// have a host name: without one, konnectivity is another port of the load balancer of kube-apiserver, and has no public
// Route. Konnectivity has its own load balancer or node port if it is published by one.
type access struct {
	public, private bool
	// apiRoute is true if the router serves the API server at apiHostname.
	apiRoute bool
	// apiHostname is the user's host name of the API server, if any.
	apiHostname string
	// ownRouter is true if the control plane's router serves the public Routes, and not the management cluster's router.
	ownRouter bool
	// publicRouter is true if public clients use the control plane's router.
	publicRouter bool
	// shared is true if the shared router takes the place of both routers of the control plane.
	shared bool
	// tunnelsByAPI is true if nodes with a public path reach konnectivity through the load balancer of the API server.
	tunnelsByAPI bool
	// dropped is true if there are no load balancers, because the control plane sleeps.
	dropped bool
	// tunnels are the paths of konnectivity, Public or Private. The first is the path of new nodes.
	tunnels  []hyperv1.AWSEndpointAccessType
	services map[hyperv1.ServiceType]hyperv1.ServicePublishingStrategy
}

// accessOf returns the access of a control plane. servesRoutes is true if the management cluster has its own router.
func accessOf(hcp *hyperv1.HostedControlPlane, servesRoutes bool) access {
	a := access{public: true, dropped: target.DropsLoadBalancers(hcp), services: map[hyperv1.ServiceType]hyperv1.ServicePublishingStrategy{}}
	if hcp.Spec.Platform.Type == hyperv1.AWSPlatform {
		served := hcp.ServedAccess()
		a.public, a.private = served != hyperv1.Private, served.Has(hyperv1.Private)
	}
	a.tunnels = tunnelPaths(hcp)
	for _, m := range hcp.Spec.Services {
		a.services[m.Service] = m.ServicePublishingStrategy
	}
	api := a.services[hyperv1.APIServer]
	a.apiRoute = api.Type == hyperv1.Route
	a.apiHostname = api.Hostname()
	a.ownRouter = !a.public || !servesRoutes || a.apiRoute && a.apiHostname != ""
	tunnels := a.services[hyperv1.Konnectivity]
	publicTunnels := tunnels.Type == hyperv1.Route && slices.Contains(a.tunnels, hyperv1.Public)
	a.tunnelsByAPI = a.public && a.ownRouter && publicTunnels && tunnels.Hostname() == "" && api.Type == hyperv1.LoadBalancer
	a.shared = a.private && a.apiRoute && sharedrouter.Serves(hcp)
	a.publicRouter = a.public && a.ownRouter && (a.apiRoute || publicTunnels && !a.tunnelsByAPI)
	return a
}

// tunnelPaths returns konnectivity's paths: the path of new nodes, and another path that nodes use.
func tunnelPaths(hcp *hyperv1.HostedControlPlane) []hyperv1.AWSEndpointAccessType {
	paths := []hyperv1.AWSEndpointAccessType{hcp.Spec.Platform.NodeAccess()}
	other := hyperv1.Public
	if paths[0] == hyperv1.Public {
		other = hyperv1.Private
	}
	// Any record is sufficient: since its generation, nodes can only have begun to use the path of new ones.
	if n := hcp.Status.NodeAccess; n != nil && n.InUse.Has(other) && hcp.ServedAccess().Has(other) {
		paths = append(paths, other)
	}
	return paths
}

// servedAccess returns the access mode that is served from now on. A path that spec does not have is removed only if no
// machine has used it since the last change of spec.
func servedAccess(hcp *hyperv1.HostedControlPlane) hyperv1.AWSEndpointAccessType {
	spec, served := hcp.Spec.Platform.AWS.EndpointAccess, hcp.ServedAccess()
	if n := hcp.Status.NodeAccess; n != nil && n.ObservedGeneration == hcp.Generation {
		return spec.With(narrow(served, n.InUse))
	}
	return served
}

// narrow returns the paths that are in both access modes.
func narrow(a, b hyperv1.AWSEndpointAccessType) hyperv1.AWSEndpointAccessType {
	switch {
	case a == hyperv1.PublicAndPrivate:
		return b
	case b.Has(a):
		return a
	}
	return ""
}
