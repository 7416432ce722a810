package hostedcontrolplane

import (
	"context"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/flow"
)

// checkConfiguration says whether the services can be published as they are asked to be.
func (r *Reconciler) checkConfiguration(_ context.Context, s *scope) error {
	if problem := s.hcp.Unreadable(); problem != "" {
		return flow.Block(hyperv1.UnreadableReason, "this object cannot be read: %s", problem)
	}
	if s.hcp.Spec.Platform.Type == hyperv1.AWSPlatform && s.hcp.Spec.Platform.AWS == nil {
		return flow.Block(hyperv1.PlatformConfigMissingReason, "spec.platform.aws is missing")
	}
	s.access = accessOf(s.hcp)
	api, named := s.access.services[hyperv1.APIServer]
	switch {
	case !named:
		return flow.Block(hyperv1.UnsupportedPublishingReason, "spec.services does not say how the APIServer is published")
	case api.Type == hyperv1.Route && s.access.apiHostname == "":
		return flow.Block(hyperv1.UnsupportedPublishingReason, "the APIServer is published as a Route without a hostname")
	case api.Type != hyperv1.Route && api.Type != hyperv1.LoadBalancer:
		return flow.Block(hyperv1.UnsupportedPublishingReason, "the APIServer is published as %s; use Route with a hostname, or LoadBalancer", api.Type)
	}
	for _, service := range []hyperv1.ServiceType{hyperv1.Konnectivity, hyperv1.OAuthServer, hyperv1.Ignition} {
		if how, named := s.access.services[service]; named && how.Type != hyperv1.Route {
			return flow.Block(hyperv1.UnsupportedPublishingReason, "%s is published as %s; use Route", service, how.Type)
		}
	}
	return nil
}
