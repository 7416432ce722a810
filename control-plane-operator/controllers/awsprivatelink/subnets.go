package awsprivatelink

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// choice holds the endpoint's subnets, and why the others cannot be used.
type choice struct {
	// subnets has one subnet for each zone, sorted.
	subnets []string
	zoneOf  map[string]string
	// unknown do not exist, foreign are in another VPC, unserved are in zones
	// that the endpoint service does not serve. Each entry is for a message.
	unknown, foreign, unserved []string
}

// resolveSubnets chooses the subnets of the endpoint.
func (r *Reconciler) resolveSubnets(ctx context.Context, s *scope) error {
	if s.es.Status.EndpointServiceName == "" {
		return reconcile.Wait(0, hyperv1.WaitingForEndpointServiceReason, "the VPC endpoint service in the management account is not there yet")
	}
	if len(s.es.Status.AvailabilityZoneIDs) == 0 {
		return reconcile.Wait(0, hyperv1.WaitingForEndpointServiceReason, "waiting for the zones of the VPC endpoint service")
	}
	attached, err := s.attached(ctx)
	if err != nil {
		return err
	}
	wanted := s.es.Spec.SubnetIDs
	if len(wanted) == 0 {
		// The last NodePool is gone; its nodes may not be.
		wanted = attached
	}
	if len(wanted) == 0 {
		return reconcile.Wait(0, hyperv1.WaitingForSubnetsReason, "no NodePool has named a subnet yet")
	}
	facts, err := s.account.subnets.Describe(ctx, slices.Compact(slices.Sorted(slices.Values(slices.Concat(wanted, attached)))))
	if err != nil {
		return err
	}
	s.subnets = choose(wanted, attached, facts, s.cleanup.VPC, s.es.Status.AvailabilityZoneIDs)
	if len(s.subnets.subnets) == 0 {
		return reconcile.Wait(time.Minute, hyperv1.SubnetsUnusableReason, "none of the subnets can be used: %s", s.subnets.problems())
	}
	return nil
}

// attached returns the subnets that the endpoint has now.
func (s *scope) attached(ctx context.Context) ([]string, error) {
	all, err := s.account.endpoints().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Tags[awsx.RoleTag] == s.role() && serves(e) {
			return e.Subnets, nil
		}
	}
	return nil, nil
}

func serves(e endpoint.Endpoint) bool { return !e.State.Leaving() && !e.State.Dead() }

// choose takes one subnet in each zone that the service serves. Zones are
// compared by id: their names mean something else in every account. In a zone
// with several subnets, the endpoint's current subnet stays; a smaller id that
// joins later would only move a network interface that works.
func choose(wanted, attached []string, facts map[string]subnet.Subnet, vpc string, served []string) choice {
	c := choice{zoneOf: map[string]string{}}
	for id, f := range facts {
		c.zoneOf[id] = f.ZoneID
	}
	taken := map[string]bool{}
	for _, id := range preferring(attached, wanted) {
		f, exists := facts[id]
		switch {
		case !exists:
			c.unknown = append(c.unknown, id)
		case f.VPC != vpc:
			c.foreign = append(c.foreign, fmt.Sprintf("%s (in %s)", id, f.VPC))
		case !slices.Contains(served, f.ZoneID):
			c.unserved = append(c.unserved, fmt.Sprintf("%s (in %s)", id, f.ZoneID))
		case !taken[f.ZoneID]:
			taken[f.ZoneID] = true
			c.subnets = append(c.subnets, id)
		}
	}
	for _, list := range [][]string{c.subnets, c.unknown, c.foreign, c.unserved} {
		slices.Sort(list)
	}
	return c
}

// preferring returns ids without duplicates, sorted, the favourites among them first.
func preferring(favourites, ids []string) []string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	slices.SortStableFunc(ids, func(a, b string) int {
		return rank(favourites, a) - rank(favourites, b)
	})
	return ids
}

func rank(favourites []string, id string) int {
	if slices.Contains(favourites, id) {
		return 0
	}
	return 1
}

// mistakes are the subnets that a NodePool should not have named.
func (c choice) mistakes() []string {
	var out []string
	if len(c.unknown) > 0 {
		out = append(out, "not found: "+strings.Join(c.unknown, ", "))
	}
	if len(c.foreign) > 0 {
		out = append(out, "in another VPC: "+strings.Join(c.foreign, ", "))
	}
	return out
}

// gaps are the subnets that the service does not reach.
func (c choice) gaps() []string {
	if len(c.unserved) == 0 {
		return nil
	}
	return []string{"in zones that the endpoint service does not serve: " + strings.Join(c.unserved, ", ")}
}

func (c choice) problems() string { return strings.Join(append(c.mistakes(), c.gaps()...), "; ") }

// checkSubnets is last: the endpoint serves all subnets that it can, and the
// condition names the others.
func (r *Reconciler) checkSubnets(_ context.Context, s *scope) error {
	if mistakes := s.subnets.mistakes(); len(mistakes) > 0 {
		return reconcile.Wait(5*time.Minute, hyperv1.SomeSubnetsUnusableReason, "subnets of NodePools cannot be used: %s", strings.Join(mistakes, "; "))
	}
	return nil
}
