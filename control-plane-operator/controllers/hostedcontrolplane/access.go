package hostedcontrolplane

import (
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// access is all that decides how a control plane is reached:
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
// * if konnectivity is published by a Route and the management cluster serves no
// Routes itself. Konnectivity has a load balancer or a node port of its own where
// it is published so.
type access struct {
	public, private bool
	// apiRoute says that the router serves the API server, under apiHostname.
	apiRoute bool
	// apiHostname is the name that the user chose, if any.
	apiHostname string
	// ownRouter says that the control plane's router, and not the management
	// cluster's, serves the Routes that come from outside.
	ownRouter bool
	// publicRouter says that somebody outside comes to that router.
	publicRouter bool
	services     map[hyperv1.ServiceType]hyperv1.ServicePublishingStrategy
}

// accessOf is the access of a control plane in a management cluster that serves
// Routes itself, or does not.
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
