package ingressrecords

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

// findTarget finds out what the records are to be. Without a load balancer, existing records stay: it may be being replaced.
func (r *Reconciler) findTarget(_ context.Context, s *scope) error {
	aws, publishing := s.hcp.Spec.Platform.AWS, s.hcp.IngressPublishing()
	domain := routes.Applications(s.hcp.Name, s.hcp.Spec.DNS, s.hcp.Spec.Configuration)
	if domain == "" {
		return reconcile.Block(hyperv1.NoIngressDomainReason, "the cluster has no domain for its applications: set dns.baseDomain, or configuration.ingress.domain")
	}
	s.want = hyperv1.IngressRecordsRecord{
		Region: aws.Region, IssuerURL: s.hcp.Spec.IssuerURL, RoleARN: string(aws.RolesRef.IngressARN), Names: []string{"*." + domain},
	}
	if id := s.hcp.Spec.DNS.PublicZoneID; id != "" && !publishing.Internal {
		s.want.ZoneIDs = append(s.want.ZoneIDs, records.ZoneID(&id))
	}
	if id := s.hcp.Spec.DNS.PrivateZoneID; id != "" && !slices.Contains(s.want.ZoneIDs, records.ZoneID(&id)) {
		s.want.ZoneIDs = append(s.want.ZoneIDs, records.ZoneID(&id))
	}
	missing := ""
	switch {
	case len(s.want.ZoneIDs) == 0 && publishing.Internal:
		missing = "dns.privateZoneID"
	case len(s.want.ZoneIDs) == 0:
		missing = "dns.publicZoneID"
	case s.want.RoleARN == "":
		missing = "platform.aws.rolesRef.ingressARN"
	}
	target := ""
	if s.hcp.Status.Ingress != nil {
		target = s.hcp.Status.Ingress.LoadBalancer
	}
	switch {
	case missing != "":
		return reconcile.Block(hyperv1.NoIngressZoneReason, "set %s, or write a record of %s that leads to %s", missing, s.want.Names[0], cmp.Or(target, "the load balancer of the ingress controller"))
	case target == "":
		return reconcile.Wait(0, hyperv1.WaitingForLoadBalancerReason, "waiting for the load balancer of the ingress controller")
	}
	s.want.Targets = []string{target}
	return nil
}

// maxFormer is how many names and load balancers the record keeps. The oldest leave it.
const maxFormer = 10

// record writes what deletion needs before a record is created: also the former names, zones and load balancers, until none of their records
// is left.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	next := s.want
	if former := s.hcp.Status.IngressRecords; former != nil {
		next.Names = union(former.Names, next.Names)
		next.ZoneIDs = union(former.ZoneIDs, next.ZoneIDs)
		next.Targets = union(former.Targets, next.Targets)
	}
	s.hcp.Status.IngressRecords = &next
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	return s.status.AddFinalizer(ctx, hyperv1.IngressRecordsFinalizer)
}

// union returns the former values that are not wanted, and then the wanted ones, of which none is cut off.
func union(former, wanted []string) []string {
	all := slices.DeleteFunc(slices.Clone(former), func(f string) bool { return slices.Contains(wanted, f) })
	all = append(all, wanted...)
	return all[max(0, len(all)-maxFormer):]
}

// ensureRecords creates the record in each zone, or lets it lead to the load balancer.
func (r *Reconciler) ensureRecords(ctx context.Context, s *scope) error {
	want := records.Record{Name: s.want.Names[0], Target: s.want.Targets[0], TTL: ttl}
	var errs []error // the problem of one zone is none of the other
	for _, zone := range s.want.ZoneIDs {
		errs = append(errs, problem(zone, r.manager(s, zone, want.Name).Ensure(ctx, []records.Record{want}, s.ofAnother)))
	}
	return firstOf(errs)
}

// firstOf returns the first error, so that its reason and its time are those of the step.
func firstOf(errs []error) error {
	if at := slices.IndexFunc(errs, func(err error) bool { return err != nil }); at >= 0 {
		return errs[at]
	}
	return nil
}

// ttl is how long resolvers may lead clients to a former load balancer.
const ttl = time.Minute

// deleteFormer deletes the records at former names and in former zones, and forgets them.
func (r *Reconciler) deleteFormer(ctx context.Context, s *scope) error {
	err := r.deleteExcept(ctx, s, s.want)
	if err == nil {
		s.hcp.Status.IngressRecords = &s.want
	}
	return err
}

// deleteRecords deletes all records of the cluster.
func (r *Reconciler) deleteRecords(ctx context.Context, s *scope) error {
	return r.deleteExcept(ctx, s, hyperv1.IngressRecordsRecord{})
}

// deleteExcept deletes the recorded records, except those at the names and in the zones that stay.
func (r *Reconciler) deleteExcept(ctx context.Context, s *scope, stay hyperv1.IngressRecordsRecord) error {
	recorded := s.hcp.Status.IngressRecords
	if recorded == nil {
		return nil
	}
	var errs []error
	for _, zone := range recorded.ZoneIDs {
		for _, name := range recorded.Names {
			if slices.Contains(stay.ZoneIDs, zone) && slices.Contains(stay.Names, name) {
				continue
			}
			manager := r.manager(s, zone, name)
			manager.Invalidate(0)
			errs = append(errs, problem(zone, manager.Delete(ctx, []string{name}, s.ofAnother)))
		}
	}
	return firstOf(errs)
}

// forget removes the record, and then the finalizer.
func (r *Reconciler) forget(ctx context.Context, s *scope) error {
	s.hcp.Status.IngressRecords = nil
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	return s.status.RemoveFinalizer(ctx, hyperv1.IngressRecordsFinalizer)
}

// place is a name in a zone.
type place struct{ zone, name string }

// manager returns the session's Manager of a name in a zone. It reads the zone once in each period.
func (r *Reconciler) manager(s *scope, zone, name string) *records.Manager {
	manager := identity.Shared(s.session, place{zone, name}, func() *records.Manager {
		return records.NewManagerOf(records.NewClient(s.session.Config), r.Clock, zone, name)
	})
	manager.Invalidate(r.ResyncPeriod)
	return manager
}

// ofAnother reports whether a record that leads to target belongs to another cluster or to a person.
func (s *scope) ofAnother(_ context.Context, target string) (bool, error) {
	return !slices.ContainsFunc(s.hcp.Status.IngressRecords.Targets, func(t string) bool { return records.Canonical(t) == target }), nil
}

// problem returns, as a wait, what the owner of a zone has to change. There is no event after the change.
func problem(zone string, err error) error {
	var claimed *records.ClaimedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &claimed):
		return reconcile.Wait(time.Minute, hyperv1.RecordClaimedReason,
			"record %s of hosted zone %s leads to %s, which is no load balancer of this cluster: delete the record", claimed.Name, zone, claimed.Target)
	case awsx.IsNotFound(err):
		return reconcile.Wait(time.Minute, hyperv1.IngressZoneMissingReason, "hosted zone %s does not exist in the account of the role", zone)
	case strings.Contains(err.Error(), "is not permitted in zone"):
		return reconcile.Wait(time.Minute, hyperv1.IngressZoneMissingReason, "hosted zone %s is that of another domain: %s", zone, awsx.Message(err))
	}
	return err
}
