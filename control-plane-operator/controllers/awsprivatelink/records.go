package awsprivatelink

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureRecords points the names of the control plane to the endpoint.
func (r *Reconciler) ensureRecords(ctx context.Context, s *scope) error {
	if published, err := r.publishes(ctx, s); !published || err != nil {
		return err
	}
	given := ""
	if shared := s.hcp.Spec.Platform.AWS.SharedVPC; shared != nil {
		given = shared.LocalZoneID
	}
	id, err := s.account.zone(ctx, given)
	if err != nil {
		return s.recordProblem(err)
	}
	if s.es.Status.DNSZoneID != id {
		s.es.Status.DNSZoneID = id
		if err := s.status.Write(ctx); err != nil { // deletion uses no other zone
			return err
		}
	}
	manager, recorded := s.account.recordsIn(id), recordNames(s.es.Name, s.hcp)
	var want []records.Record
	for _, name := range recorded {
		want = append(want, records.Record{Name: name, Target: s.endpoint.DNSName, TTL: s.hcp.PrivateRecordTTL()})
	}
	err = manager.Ensure(ctx, want, s.ofAnother)
	if err == nil {
		stale := slices.DeleteFunc(slices.Clone(s.es.Status.DNSNames), func(n string) bool { return slices.Contains(recorded, n) })
		err = manager.Delete(ctx, stale, s.ofAnother)
	}
	if awsx.IsNotFound(err) {
		s.account.zones.Forget(given)
		return reconcile.Wait(time.Second, string(records.ZoneMissing), "hosted zone %s is gone", id)
	}
	if err != nil {
		return s.recordProblem(err)
	}
	s.es.Status.DNSNames = recorded
	return nil
}

// deleteRecords runs before the endpoint is deleted: a name without a target is worse than
// no name.
func (r *Reconciler) deleteRecords(ctx context.Context, s *scope) error {
	// The zone is recorded before the first record is made in it.
	if s.es.Status.DNSZoneID == "" {
		return nil
	}
	// All names that this object can have had: the process may have died before it
	// recorded them.
	hcp := s.cleanup.HostedControlPlane
	return s.account.recordsIn(s.es.Status.DNSZoneID).Delete(ctx, []string{names.LocalAPI(hcp), names.LocalApps(hcp)}, s.ofAnother)
}

// recordNames are the names of the load balancer of the service.
func recordNames(service string, hcp *hyperv1.HostedControlPlane) []string {
	api, apps := names.LocalAPI(hcp.Name), names.LocalApps(hcp.Name)
	switch {
	case service == names.KubeAPIServerPrivate:
		return []string{api}
	case apiRoute(hcp) != nil:
		return []string{apps, api}
	}
	return []string{apps}
}

// recordProblem returns, as a wait, the change that the zone's owner has to make. There is no event after the change.
func (s *scope) recordProblem(err error) error {
	var zone *records.ZoneError
	if errors.As(err, &zone) {
		return reconcile.Wait(time.Minute, string(zone.Problem), "%s", zone)
	}
	var claimed *records.ClaimedError
	switch {
	case !errors.As(err, &claimed):
		return err
	case s.hcp.Annotations[hyperv1.MovedFromAnnotation] != "" && s.hcp.ReplacedEndpointOwner() == "":
		return reconcile.Wait(time.Minute, hyperv1.RecordClaimedReason, "record %s leads to %s until the cluster has moved to this management cluster", claimed.Name, claimed.Target)
	}
	return reconcile.Wait(time.Minute, hyperv1.RecordClaimedReason, "%s", claimed)
}

// endpointOf finds the id in the DNS name of an endpoint.
var endpointOf = regexp.MustCompile(`^(vpce-[0-9a-f]+)-`)

// ofAnother is true if target is in use by another object: an existing endpoint that does not belong to this object. A record to any other
// target is of no use.
func (s *scope) ofAnother(ctx context.Context, target string) (bool, error) {
	m := endpointOf.FindStringSubmatch(target)
	if m == nil {
		return false, nil
	}
	all, err := s.account.endpoints().List(ctx)
	if err != nil {
		return false, err
	}
	for _, e := range all {
		if e.ID == m[1] {
			role := e.Tags[awsx.RoleTag]
			takesOver := !s.deleting() && role == former(s.es)+roleSuffix
			return role != s.role() && serves(e) && !takesOver, nil
		}
	}
	replaced := ""
	if !s.deleting() { // a deletion leaves a name to the endpoint that it leads to
		replaced = s.hcp.ReplacedEndpointOwner()
	}
	return s.account.endpoints().OfAnother(ctx, m[1], replaced)
}
