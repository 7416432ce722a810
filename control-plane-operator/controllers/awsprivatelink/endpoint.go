package awsprivatelink

import (
	"context"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureEndpoint connects the customer's VPC to the endpoint service.
func (r *Reconciler) ensureEndpoint(ctx context.Context, s *scope) error {
	r.refresh(s)
	tags, known := s.tags(s.cleanup.InfraID+"-"+s.es.Name), s.es.Status.EndpointID
	got, err := s.account.endpoints.Ensure(ctx, endpoint.Spec{
		Owner:       s.cleanup.OwnerUID,
		Role:        s.role(),
		ServiceName: s.es.Status.EndpointServiceName,
		VPC:         s.cleanup.VPC,
		Subnets:     s.subnets.subnets,
		Groups:      []string{s.es.Status.SecurityGroupID},
		Tags:        tags,
		StaleTags:   tags.Stale(s.es.Status.TagKeys),
		Previous:    known,
		ZoneOf:      s.subnets.zoneOf,
		Hooks:       r.hooks(s, hyperv1.VPCEndpointResource),
	})
	if got.ID != "" {
		if got.ID != known || serves(got) {
			s.made(hyperv1.VPCEndpointResource)
		}
		s.es.Status.EndpointID = got.ID
	}
	if err != nil {
		return err
	}
	s.forgetStaleTags()
	if reason, why := state(got, s.es.Status.EndpointServiceName); reason != "" {
		return reconcile.Wait(r.untilRefresh(s, coming), reason, "VPC endpoint %s %s", got.ID, why)
	}
	r.backoff.reset(s.es.UID)
	s.target = got.DNSName
	return nil
}

// refresh lists the endpoints again if this object has waited for one of them.
func (r *Reconciler) refresh(s *scope) {
	if age := r.backoff.age(s.es.UID); age > 0 {
		s.account.endpoints.Invalidate(age)
	}
}

// untilRefresh is the time until the endpoints are listed again. It counts from
// the last list, also that of another object: objects that wait for endpoints of
// one cluster are reconciled together and share the next list.
func (r *Reconciler) untilRefresh(s *scope, steps steps) time.Duration {
	return max(r.backoff.next(s.es.UID, steps)-s.account.endpoints.Age(), steps.first)
}

// state returns why an endpoint cannot be used yet, and nothing for an available
// endpoint with a name.
func state(e endpoint.Endpoint, service string) (reason, why string) {
	switch {
	case e.ServiceName != service:
		return hyperv1.EndpointReplacedReason, "is connected to another service and is being replaced"
	case e.State == endpoint.Available && e.DNSName != "":
		return "", ""
	case e.State == endpoint.Available:
		return hyperv1.EndpointPendingReason, "has no DNS name yet"
	case e.State == endpoint.PendingAcceptance:
		return hyperv1.EndpointPendingAcceptanceReason, "waits for the endpoint service to accept it"
	case e.State.Dead() && e.Why != "":
		return hyperv1.EndpointReplacedReason, "is " + string(e.State) + " and is being replaced: " + e.Why
	case e.State.Dead() || e.State.Leaving():
		return hyperv1.EndpointReplacedReason, "is " + string(e.State) + " and is being replaced"
	}
	return hyperv1.EndpointPendingReason, "is " + string(e.State)
}
