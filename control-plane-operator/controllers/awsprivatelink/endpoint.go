package awsprivatelink

import (
	"context"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

var (
	coming = ledger.Backoff{First: time.Second, Limit: 30 * time.Second}
	// leaving lists sixteen times in the minute that AWS usually takes to delete
	// an endpoint, the last time just after it.
	leaving = ledger.Backoff{First: 300 * time.Millisecond, Limit: 4700 * time.Millisecond}
)

func (a *account) endpoints() *endpoint.Manager { return open(a, endpoint.Shared) }

// ensureEndpoint connects the customer's VPC to the endpoint service.
func (r *Reconciler) ensureEndpoint(ctx context.Context, s *scope, claim ledger.Claim) (ledger.Observed, error) {
	r.refresh(s)
	tags := s.tags(s.cleanup.InfraID + "-" + s.es.Name)
	got, err := s.account.endpoints().Ensure(ctx, endpoint.Spec{
		Owner:       s.cleanup.OwnerUID,
		Role:        s.role(),
		ServiceName: s.es.Status.EndpointServiceName,
		VPC:         s.cleanup.VPC,
		Subnets:     s.subnets.subnets,
		Groups:      []string{s.es.Status.SecurityGroupID},
		Tags:        tags,
		StaleTags:   tags.Stale(claim.TagKeys),
		Previous:    claim.ID,
		ZoneOf:      s.subnets.zoneOf,
		Hooks:       claim.Hooks,
	})
	s.endpoint = got
	return ledger.Observed{ID: got.ID, Usable: serves(got)}, err
}

// endpointReady waits until the endpoint is available.
func (r *Reconciler) endpointReady(_ context.Context, s *scope) error {
	if reason, message := state(s.endpoint, s.es.Status.EndpointServiceName); reason != "" {
		return reconcile.Wait(r.untilRefresh(s, coming), reason, "VPC endpoint %s %s", s.endpoint.ID, message)
	}
	r.ledger.StopWaiting(s)
	return nil
}

// deleteEndpoint waits until the endpoint is gone, because its network
// interfaces keep security group and subnets until then.
func (r *Reconciler) deleteEndpoint(ctx context.Context, s *scope, d ledger.Deletion) (found bool, err error) {
	r.refresh(s)
	all, err := s.account.endpoints().List(ctx)
	if err != nil {
		return false, err
	}
	// An endpoint with the recorded id is not the result of a creation without a recorded id.
	found = slices.ContainsFunc(all, func(e endpoint.Endpoint) bool {
		return e.Tags[awsx.RoleTag] == s.role() && !e.State.Leaving() && e.ID != d.ID
	})
	role := s.role()
	if d.Sweep {
		role = ""
	}
	remaining, err := s.account.endpoints().Delete(ctx, role, d.ID)
	if err == nil && len(remaining) > 0 {
		err = reconcile.Wait(r.untilRefresh(s, leaving), hyperv1.EndpointDeletingReason, "waiting until AWS has deleted %s", ids(remaining))
	}
	return found, err
}

func ids(list []endpoint.Endpoint) string {
	var out []string
	for _, e := range list {
		out = append(out, "VPC endpoint "+e.ID)
	}
	return strings.Join(out, ", ")
}

// refresh lists the endpoints again if this object has waited for one of them.
func (r *Reconciler) refresh(s *scope) {
	if age := r.ledger.ListAge(s); age > 0 {
		s.account.endpoints().Invalidate(age)
	}
}

// untilRefresh is the time until the endpoints are listed again. It counts from
// the last list, also a list for another object: objects that wait for endpoints of
// one cluster are reconciled together and share the next list.
func (r *Reconciler) untilRefresh(s *scope, b ledger.Backoff) time.Duration {
	return max(r.ledger.Delay(s, b)-s.account.endpoints().Age(), b.First)
}

// state returns why an endpoint cannot be used yet, and "" for an available endpoint with a name.
func state(e endpoint.Endpoint, service string) (reason, message string) {
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
