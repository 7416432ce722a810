package hostedcontrolplane

import (
	"context"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkConfiguration validates the publishing of the services.
func (r *Reconciler) checkConfiguration(_ context.Context, s *scope) error {
	if problem := s.hcp.Unreadable(); problem != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "this object cannot be read: %s", problem)
	}
	if s.hcp.Spec.Platform.Type == hyperv1.AWSPlatform && s.hcp.Spec.Platform.AWS == nil {
		return reconcile.Block(hyperv1.PlatformConfigMissingReason, "spec.platform.aws is missing")
	}
	published, private := accessOf(s.hcp, r.ServesRoutes), s.hcp.Spec.Platform.PrivateLink()
	api, named := published.services[hyperv1.APIServer]
	switch {
	case !named:
		return reconcile.Block(hyperv1.UnsupportedPublishingReason, "spec.services has no entry for the APIServer")
	case api.Type == hyperv1.Route && published.apiHostname == "" && published.public:
		return reconcile.Block(hyperv1.UnsupportedPublishingReason, "the APIServer is published as a Route without a hostname")
	case !reachable(api):
		return reconcile.Block(hyperv1.UnsupportedPublishingReason, "the APIServer is published as %s; use LoadBalancer, Route with a hostname, or NodePort with an address", api.Type)
	case private && api.Type == hyperv1.NodePort:
		return reconcile.Block(hyperv1.UnsupportedPublishingReason, "the APIServer is published as NodePort, which PrivateLink cannot offer; use LoadBalancer, or Route with a hostname")
	}
	tunnels, named := published.services[hyperv1.Konnectivity]
	switch {
	case named && !reachable(tunnels):
		return reconcile.Block(hyperv1.UnsupportedPublishingReason, "Konnectivity is published as %s; use LoadBalancer, Route, or NodePort with an address", tunnels.Type)
	case named && private && tunnels.Type != hyperv1.Route:
		return reconcile.Block(hyperv1.UnsupportedPublishingReason, "Konnectivity is published as %s, but PrivateLink reaches only the router; use Route", tunnels.Type)
	}
	return nil
}

// reachable returns whether clients can reach a service with this publishing strategy.
func reachable(how hyperv1.ServicePublishingStrategy) bool {
	switch how.Type {
	case hyperv1.LoadBalancer, hyperv1.Route:
		return true
	case hyperv1.NodePort:
		return how.Chosen() != ""
	}
	return false
}
