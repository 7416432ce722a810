package hostedcluster

import (
	"cmp"
	"context"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// findSharedRouter finds the load balancers of the shared router for a cluster that wants it.
func (r *Reconciler) findSharedRouter(ctx context.Context, s *scope) (err error) {
	if !sharedrouter.Wanted(s.hc) {
		return nil
	}
	if !r.SharedRouter {
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"annotation %s is true, and this installation has no shared router: enable it (sharedRouter.enabled of the chart), or remove the annotation", hyperv1.SharedRouterAnnotation)
	}
	if s.hcp != nil && !sharedrouter.Serves(s.hcp) && hasPublicNodes(s.hcp) {
		return nil // the cluster moves when its last node uses the endpoint
	}
	if s.sharedRouter, err = sharedrouter.Find(ctx, r.Client, r.Namespace); err != nil {
		return err
	}
	if s.hcp != nil { // a status that is missing for a moment must not move a cluster
		s.sharedRouter.Public = cmp.Or(s.sharedRouter.Public, s.hcp.Annotations[hyperv1.SharedRouterPublicHostAnnotation])
		s.sharedRouter.Private = cmp.Or(s.sharedRouter.Private, s.hcp.Annotations[hyperv1.SharedRouterPrivateHostAnnotation])
	}
	if missing := s.sharedRouter.Missing(); missing != "" {
		return reconcile.Wait(0, hyperv1.UnsupportedClusterReason, "waiting for the load balancer of Service %s in namespace %s, which the shared router needs", missing, r.Namespace)
	}
	return nil
}

// hasPublicNodes reports whether nodes use, or may still use, the public path, which the shared router does not serve: the access mode is changing.
func hasPublicNodes(hcp *hyperv1.HostedControlPlane) bool {
	aws := hcp.Spec.Platform.AWS
	if aws == nil || hcp.ServedAccess() != aws.EndpointAccess || aws.EndpointAccess == hyperv1.Public {
		return true
	}
	return hcp.Status.NodeAccess != nil && hcp.Status.NodeAccess.InUse.Has(hyperv1.Public)
}
