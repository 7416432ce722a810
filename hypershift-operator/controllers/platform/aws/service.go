package aws

import (
	"context"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// slow is for an operation of AWS, or of a cloud controller.
var slow = ledger.Backoff{First: minInterval, Limit: 5 * time.Minute, Share: 0.25}

const minInterval = 5 * time.Second

// endpointService is the resource of an AWSEndpointService in the management account.
func (r *Reconciler) endpointService() ledger.Resource[*scope] {
	return ledger.Resource[*scope]{
		Name: "endpoint service", Entry: func(s *scope) ledger.Entry { return entry{s} },
		Ensure: r.ensureEndpointService, Ready: r.endpointServiceReady, Delete: r.deleteEndpointService,
	}
}

// ensureService offers the load balancer to the customer's account.
func (r *Reconciler) ensureService(ctx context.Context, s *scope) (err error) {
	if err := r.checkOwner(s); err != nil {
		return err
	}
	if err := r.checkBalancer(ctx, s); err != nil {
		return err
	}
	if s.balancer, err = r.activeLoadBalancer(ctx, s); err != nil {
		return err
	}
	if err := r.ledger.Record(ctx, s); err != nil {
		return err
	}
	if err := r.compare(ctx, s); err != nil {
		return err
	}
	return r.ledger.Ensure(ctx, s, r.service)
}

// compare makes the next call of Ensure read the service and its principals from AWS if the endpoint seems cut off. Otherwise,
// the principals are read rarely.
func (r *Reconciler) compare(ctx context.Context, s *scope) error {
	if !disconnected(s.es, s.hcp) {
		return nil
	}
	due, after := r.comparisons.due(s.es.UID)
	s.compareAfter = after
	if !due {
		return nil
	}
	owner, err := r.ownerOf(ctx, s)
	if err != nil {
		return err
	}
	return r.Services.Invalidate(ctx, owner)
}

func (r *Reconciler) ensureEndpointService(ctx context.Context, s *scope, claim ledger.Claim) (got ledger.Observed, err error) {
	s.offered, err = r.ensureOffered(ctx, s, claim.ID)
	if err != nil {
		if awsx.IsInvalid(err) || awsx.IsNotFound(err) {
			r.LoadBalancers.Forget(s.balancer.Name) // it may be another one by now
		}
		return got, err
	}
	s.es.Status.NetworkLoadBalancerARN = s.balancer.ARN
	s.es.Status.AvailabilityZoneIDs = s.offered.ZoneIDs
	return ledger.Observed{ID: s.offered.Name, Usable: true}, nil
}

// endpointServiceReady waits until AWS has created the service.
func (r *Reconciler) endpointServiceReady(_ context.Context, s *scope) error {
	switch svc := s.offered; svc.State {
	case endpointservice.Available:
		r.ledger.StopWaiting(s)
		return nil
	case endpointservice.Failed:
		return reconcile.Wait(r.ledger.Delay(s, slow), hyperv1.EndpointServiceFailedReason, "AWS reports that endpoint service %s has failed; delete it in AWS and it is made again", svc.ID)
	default:
		return reconcile.Wait(r.ledger.Delay(s, slow), hyperv1.EndpointServicePendingReason, "endpoint service %s is %s", svc.ID, strings.ToLower(string(svc.State)))
	}
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

func desiredService(s *scope, owner endpointservice.Owner, recorded string) endpointservice.Spec {
	infraID := s.hc.Spec.InfraID
	tags := awsx.OwnedTags(awsx.UserTags(s.es.Spec.ResourceTags), owner.UID, owner.Role, infraID, infraID+"-"+s.es.Name)
	return endpointservice.Spec{
		Owner:           owner,
		LoadBalancerARN: s.balancer.ARN,
		Principals:      desiredPrincipals(s.hc.Spec.Platform.AWS),
		Tags:            tags,
		StaleTags:       tags.Stale(pastTagKeys(s.es)),
		Recorded:        recorded,
		// A new object, or a service that has disappeared, is a new request.
		Request: string(s.es.UID) + "/" + recorded,
	}
}

// serviceRole is the service's role for the control plane: the value of awsx.RoleTag.
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
