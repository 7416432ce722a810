package awsprivatelink

import (
	"context"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/flow"
)

// How soon to look again at an endpoint that is coming up.
const (
	pendingFirst = time.Second
	pendingLimit = 30 * time.Second
)

// ensureEndpoint joins the customer's VPC to the endpoint service.
func (r *Reconciler) ensureEndpoint(ctx context.Context, s *scope) error {
	r.lookAgain(s)
	got, err := s.account.endpoints.Ensure(ctx, endpoint.Spec{
		Owner:       s.cleanup.OwnerUID,
		Role:        s.role(),
		ServiceName: s.es.Status.EndpointServiceName,
		VPC:         s.cleanup.VPC,
		Subnets:     s.subnets.subnets,
		Groups:      []string{s.es.Status.SecurityGroupID},
		Tags:        s.tags(s.cleanup.InfraID + "-" + s.es.Name),
		Previous:    s.es.Status.EndpointID,
		ZoneOf:      s.subnets.zoneOf,
	})
	if got.ID != "" {
		s.es.Status.EndpointID = got.ID
	}
	if err != nil {
		return err
	}
	if reason, why := state(got, s.es.Status.EndpointServiceName); reason != "" {
		return flow.Wait(r.pace.next(s.es.UID, pendingFirst, pendingLimit), reason, "VPC endpoint %s %s", got.ID, why)
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
