package hostedcontrolplane

import (
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// access has all facts that decide how clients reach a control plane:
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
// * if konnectivity is published by a Route and the management cluster does not serve Routes. Konnectivity has its own
// load balancer or node port if it is published by one.
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
	services     map[hyperv1.ServiceType]hyperv1.ServicePublishingStrategy
}

// accessOf returns the access of a control plane. servesRoutes is true if the management cluster has its own router.
func accessOf(hcp *hyperv1.HostedControlPlane, servesRoutes bool) access {
	a := access{public: true, services: map[hyperv1.ServiceType]hyperv1.ServicePublishingStrategy{}}
	if aws := hcp.Spec.Platform.AWS; aws != nil {
		a.public = aws.EndpointAccess != hyperv1.Private
		a.private = hcp.Spec.Platform.PrivateLink()
	}
	for _, m := range hcp.Spec.Services {
		a.services[m.Service] = m.ServicePublishingStrategy
	}
	api := a.services[hyperv1.APIServer]
	a.apiRoute = api.Type == hyperv1.Route
	a.apiHostname = api.Hostname()
	a.ownRouter = !a.public || !servesRoutes || a.apiRoute && a.apiHostname != ""
	tunnels := a.services[hyperv1.Konnectivity].Type == hyperv1.Route && !a.private
	a.publicRouter = a.public && a.ownRouter && (a.apiRoute || tunnels)
	return a
}
