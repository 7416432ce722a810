package awsprivatelink

import (
	"context"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureEndpoint joins the customer's VPC to the endpoint service.
func (r *Reconciler) ensureEndpoint(ctx context.Context, s *scope) error {
	r.lookAgain(s)
	tags, known := s.tags(s.cleanup.InfraID+"-"+s.es.Name), s.es.Status.EndpointID
	got, err := s.account.endpoints.Ensure(ctx, endpoint.Spec{
		Owner:       s.cleanup.OwnerUID,
		Role:        s.role(),
		ServiceName: s.es.Status.EndpointServiceName,
		VPC:         s.cleanup.VPC,
		Subnets:     s.subnets.subnets,
		Groups:      []string{s.es.Status.SecurityGroupID},
		Tags:        tags,
		StaleTags:   s.staleTags(tags),
		Previous:    known,
		ZoneOf:      s.subnets.zoneOf,
		Witness:     r.witness(s, hyperv1.VPCEndpointResource),
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
		return reconcile.Wait(r.untilLook(s, coming), reason, "VPC endpoint %s %s", got.ID, why)
	}
	r.pace.rest(s.es.UID)
	s.target = got.DNSName
	return nil
}

// lookAgain looks at the endpoints if this pass has waited for one of them.
func (r *Reconciler) lookAgain(s *scope) {
	if age := r.pace.age(s.es.UID); age > 0 {
		s.account.endpoints.Look(age)
	}
}

// untilLook is how long to wait until the endpoints are looked at again. It
// counts from the last look, whoever made it: so those who wait for endpoints
// of one cluster come together and share the next.
func (r *Reconciler) untilLook(s *scope, in rhythm) time.Duration {
	return max(r.pace.next(s.es.UID, in)-s.account.endpoints.Age(), in.first)
}

// state says why an endpoint cannot be used yet. Only an available endpoint
// with a name can.
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
