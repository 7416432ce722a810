package awsprivatelink

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// resolveControlPlane finds the control plane of this namespace.
func (r *Reconciler) resolveControlPlane(ctx context.Context, s *scope) error {
	if problem := s.es.Unreadable(); problem != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "this object cannot be read: %s", problem)
	}
	hcp, err := controlPlane(ctx, r.Client, s.es.Namespace)
	if err != nil {
		return err
	}
	if hcp == nil {
		return reconcile.Wait(0, hyperv1.WaitingForControlPlaneReason, "there is no HostedControlPlane in this namespace")
	}
	if problem := hcp.Unreadable(); problem != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "HostedControlPlane %s cannot be read: %s", hcp.Name, problem)
	}
	aws := hcp.Spec.Platform.AWS
	if aws == nil || aws.CloudProviderConfig == nil || aws.CloudProviderConfig.VPC == "" {
		return reconcile.Block(hyperv1.InvalidPlatformReason, "the HostedCluster names no VPC: set platform.aws.cloudProviderConfig.vpc")
	}
	s.hcp = hcp
	return nil
}

// controlPlane returns the HostedControlPlane of the namespace, or nil.
func controlPlane(ctx context.Context, c client.Reader, namespace string) (*hyperv1.HostedControlPlane, error) {
	list := &hyperv1.HostedControlPlaneList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing HostedControlPlanes: %w", err)
	}
	switch len(list.Items) {
	case 0:
		return nil, nil
	case 1:
		return &list.Items[0], nil
	}
	return nil, fmt.Errorf("namespace %s has %d HostedControlPlanes; a namespace is for one", namespace, len(list.Items))
}

// publishes reports whether records lead to the endpoint of an object. While a cluster moves to the shared router, or from it, it has two
// endpoints for the same names.
func (r *Reconciler) publishes(ctx context.Context, s *scope) (bool, error) {
	if s.es.Name == names.KubeAPIServerPrivate {
		return true, nil
	}
	name, after, err := publishing.Router(ctx, r.Client, s.hcp, r.Clock.Now())
	s.publishAfter = after
	return name == s.es.Name, err
}

// former returns the name of the object whose records an object takes over, or "".
func former(es *hyperv1.AWSEndpointService) string {
	switch es.Name {
	case names.PrivateRouter:
		return sharedrouter.EndpointService
	case sharedrouter.EndpointService:
		return names.PrivateRouter
	}
	return ""
}

// paused reports whether the user has paused reconciliation, and for how long.
func (r *Reconciler) paused(ctx context.Context, es *hyperv1.AWSEndpointService) (bool, time.Duration, error) {
	hcp, err := controlPlane(ctx, r.Client, es.Namespace)
	if hcp == nil || err != nil {
		return false, 0, err
	}
	paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	return paused, remaining, nil
}

// apiRoute returns how the router serves the API server, or nil if the API server has its own load balancer.
func apiRoute(hcp *hyperv1.HostedControlPlane) *hyperv1.ServicePublishingStrategy {
	if how := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer); how.Type == hyperv1.Route {
		return &how
	}
	return nil
}
