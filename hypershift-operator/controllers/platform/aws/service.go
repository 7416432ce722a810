package aws

import (
	"context"
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureService offers the load balancer to the customer's account.
func (r *Reconciler) ensureService(ctx context.Context, s *scope) error {
	if err := r.checkOwner(s); err != nil {
		return err
	}
	if err := r.checkBalancer(ctx, s); err != nil {
		return err
	}
	lb, err := r.activeLoadBalancer(ctx, s)
	if err != nil {
		return err
	}
	here, err := awsx.LocationOf(lb.ARN)
	if err != nil {
		return err
	}
	if err := r.ensureRecord(ctx, s, here); err != nil {
		return err
	}
	svc, err := r.Services.Ensure(ctx, desiredService(s, lb))
	if err != nil {
		if awsx.IsInvalid(err) || awsx.IsNotFound(err) {
			r.LoadBalancers.Forget(lb.Name) // it may be another one by now
		}
		return err
	}
	s.es.Status.EndpointServiceName = svc.Name
	s.es.Status.NetworkLoadBalancerARN = lb.ARN
	s.es.Status.AvailabilityZoneIDs = svc.ZoneIDs
	switch svc.State {
	case endpointservice.Available:
		r.backoff.end(s.es.UID)
		return nil
	case endpointservice.Failed:
		return reconcile.Wait(r.backoff.next(s.es.UID), hyperv1.EndpointServiceFailedReason, "AWS reports that endpoint service %s has failed; delete it in AWS and it is made again", svc.ID)
	}
	return reconcile.Wait(r.backoff.next(s.es.UID), hyperv1.EndpointServicePendingReason, "endpoint service %s is %s", svc.ID, strings.ToLower(string(svc.State)))
}

func (r *Reconciler) checkOwner(s *scope) error {
	if problem := s.es.Unreadable(); problem != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "the object cannot be read: %s", problem)
	}
	if len(s.crowd) > 0 {
		return reconcile.Block(hyperv1.AmbiguousOwnerReason, "namespace %s has several HostedControlPlanes: %s", s.es.Namespace, strings.Join(s.crowd, ", "))
	}
	if s.hc != nil && s.hc.Unreadable() != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "HostedCluster %s/%s cannot be read, so nothing is changed: %s", s.hc.Namespace, s.hc.Name, s.hc.Unreadable())
	}
	if !s.known() || s.hc.Spec.Platform.AWS == nil {
		return reconcile.Wait(0, hyperv1.WaitingForHostedClusterReason, "namespace %s has no control plane of an AWS HostedCluster", s.es.Namespace)
	}
	return nil
}

func desiredService(s *scope, lb loadbalancer.LoadBalancer) endpointservice.Spec {
	owner := endpointservice.Owner{UID: string(s.hcp.UID), Role: serviceRole(s.es)}
	infraID := s.hc.Spec.InfraID
	tags := awsx.OwnedTags(awsx.UserTags(s.es.Spec.ResourceTags), owner.UID, owner.Role, infraID, infraID+"-"+s.es.Name)
	return endpointservice.Spec{
		Owner:           owner,
		LoadBalancerARN: lb.ARN,
		Principals:      desiredPrincipals(s.hc.Spec.Platform.AWS),
		Tags:            tags,
		StaleTags:       tags.Stale(pastTagKeys(s.es)),
		Recorded:        s.es.Status.EndpointServiceName,
		// A new object, or a service that has disappeared, is a new request.
		Request: string(s.es.UID) + "/" + s.es.Status.EndpointServiceName,
	}
}

// serviceRole is what the service is to the control plane: value of awsx.RoleTag.
func serviceRole(es *hyperv1.AWSEndpointService) string { return es.Name + "-endpoint-service" }

// desiredPrincipals are the roles that create endpoints for the cluster, and those
// that the user adds.
func desiredPrincipals(p *hyperv1.AWSPlatformSpec) []string {
	principals := append([]string{withoutPath(string(p.RolesRef.ControlPlaneOperatorARN))}, p.AdditionalAllowedPrincipals...)
	if p.SharedVPC != nil {
		// The endpoint of a shared VPC belongs to the account of the VPC.
		principals = append(principals, withoutPath(string(p.SharedVPC.RolesRef.ControlPlaneARN)))
	}
	slices.Sort(principals)
	return slices.Compact(principals)
}

// withoutPath removes the path from a role's ARN: the ARN of an assumed role has
// none, so a principal with a path matches no caller.
func withoutPath(arn string) string {
	account, path, ok := strings.Cut(arn, ":role/")
	if !ok {
		return arn
	}
	return account + ":role/" + path[strings.LastIndex(path, "/")+1:]
}
