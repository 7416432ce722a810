package hostedcontrolplane

import (
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// access is all that decides how a control plane is reached:
//
//	                         kube-apiserver   kube-apiserver-private  router   private-router
//	Public           LB      load balancer    -                       -        -
//	Public           Route   ClusterIP        -                       public   -
//	PublicAndPrivate LB      load balancer    internal                -        internal
//	PublicAndPrivate Route   ClusterIP        -                       public   internal
//	Private          LB      ClusterIP        internal                -        internal
//	Private          Route   ClusterIP        -                       -        internal
type access struct {
	public, private bool
	// apiRoute says that the router serves the API server, under apiHostname.
	apiRoute bool
	// apiHostname is the name that the user chose, if any.
	apiHostname string
	// ownRouter says that the control plane's router, and not the management
	// cluster's, serves the Routes that come from outside.
	ownRouter bool
	services  map[hyperv1.ServiceType]hyperv1.ServicePublishingStrategy
}

func accessOf(hcp *hyperv1.HostedControlPlane) access {
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
	a.ownRouter = !a.public || a.apiRoute && a.apiHostname != ""
	return a
}
