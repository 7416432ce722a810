package records

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

// A Manager manages our records in one hosted zone.
type Manager struct {
	api    API
	zone   string
	cached *cache.List[Set]
	// shared is true for a zone in which other people have records.
	shared bool
}

// OfAnother is true if target is in use by another cluster or object.
type OfAnother func(ctx context.Context, target string) (bool, error)

// NewManager returns a Manager of a zone that has few records, which it lists together.
func NewManager(api API, clk clock.PassiveClock, zoneID string) *Manager {
	return newManager(api, clk, zoneID, func(ctx context.Context) ([]Set, error) { return list(ctx, api, zoneID) })
}

// NewManagerOf returns a Manager of one name in a zone of the user, which may have thousands of other records. It lists only those at the name.
// Only a CNAME there can be ours.
func NewManagerOf(api API, clk clock.PassiveClock, zoneID, name string) *Manager {
	m := newManager(api, clk, zoneID, func(ctx context.Context) ([]Set, error) { return listAt(ctx, api, zoneID, name) })
	m.shared = true
	return m
}

func newManager(api API, clk clock.PassiveClock, zoneID string, load func(context.Context) ([]Set, error)) *Manager {
	return &Manager{api: api, zone: zoneID, cached: cache.NewList(cache.ListOptions[Set]{Clock: clk, Key: Set.key, Load: load})}
}

// Invalidate makes the next use list from AWS, unless the last list is younger than age.
func (m *Manager) Invalidate(age time.Duration) { m.cached.Invalidate(age) }

func list(ctx context.Context, api API, zoneID string) ([]Set, error) {
	var out []Set
	pages := route53.NewListResourceRecordSetsPaginator(api, &route53.ListResourceRecordSetsInput{HostedZoneId: &zoneID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing records of hosted zone %s: %w", zoneID, err)
		}
		for _, set := range page.ResourceRecordSets {
			out = append(out, read(set))
		}
	}
	return out, nil
}

// listAt lists the sets at a name. Route 53 sorts them by name, so that they are the first ones from the name on.
func listAt(ctx context.Context, api API, zoneID, name string) ([]Set, error) {
	var out []Set
	pages := route53.NewListResourceRecordSetsPaginator(api, &route53.ListResourceRecordSetsInput{HostedZoneId: &zoneID, StartRecordName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing records of hosted zone %s: %w", zoneID, err)
		}
		for _, set := range page.ResourceRecordSets {
			s := read(set)
			if s.Name != Canonical(name) {
				return out, nil
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// Ensure creates or updates the records. Any other set at one of their names is
// replaced, unless it is in use by another cluster.
func (m *Manager) Ensure(ctx context.Context, desired []Record, taken OfAnother) error {
	current, err := m.cached.All(ctx)
	if err != nil {
		return err
	}
	var changes []types.Change
	for _, r := range desired {
		wrong, exists := at(current, r)
		if exists && len(wrong) == 0 {
			continue
		}
		if err := m.claimed(ctx, wrong, taken); err != nil {
			return err
		}
		changes = append(changes, replace(wrong, r)...)
	}
	return m.change(ctx, changes)
}

// at reports whether r exists, and returns the other sets at its name.
func at(current []Set, r Record) (wrong []Set, exists bool) {
	for _, s := range current {
		switch {
		case s.Name != Canonical(r.Name):
		case s.is(r):
			exists = true
		default:
			wrong = append(wrong, s)
		}
	}
	return wrong, exists
}

// replace returns the changes that replace wrong by r. An upsert replaces only a
// plain CNAME, and a CNAME cannot coexist with another set.
func replace(wrong []Set, r Record) []types.Change {
	var changes []types.Change
	for _, s := range wrong {
		if !s.plain() {
			changes = append(changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &s.wire})
		}
	}
	wire := r.wire()
	return append(changes, types.Change{Action: types.ChangeActionUpsert, ResourceRecordSet: &wire})
}

// Delete deletes the sets at the names, unless they are in use by another cluster. A
// zone that was deleted has no records.
func (m *Manager) Delete(ctx context.Context, names []string, taken OfAnother) error {
	current, err := m.cached.All(ctx)
	if awsx.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var changes []types.Change
	for _, s := range current {
		if !slices.ContainsFunc(names, func(n string) bool { return Canonical(n) == s.Name }) {
			continue
		}
		others, err := m.othersTarget(ctx, s, taken)
		if err != nil {
			return err
		}
		if others == "" {
			changes = append(changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &s.wire})
		}
	}
	return m.change(ctx, changes)
}

// change sends one batch, which is applied as a whole or not at all. After an error
// the outcome is unknown and the zone is listed again.
func (m *Manager) change(ctx context.Context, changes []types.Change) error {
	if len(changes) == 0 {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Changing DNS records", "zone", m.zone, "changes", len(changes))
	_, err := m.api.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &m.zone, ChangeBatch: &types.ChangeBatch{Changes: changes},
	})
	if err != nil {
		m.Invalidate(0)
		return fmt.Errorf("changing records of hosted zone %s: %w", m.zone, err)
	}
	for _, c := range changes {
		set := read(*c.ResourceRecordSet)
		if c.Action == types.ChangeActionDelete {
			m.cached.Remove(set.key())
			continue
		}
		m.cached.Put(set)
	}
	return nil
}

func (m *Manager) claimed(ctx context.Context, sets []Set, taken OfAnother) error {
	for _, s := range sets {
		target, err := m.othersTarget(ctx, s, taken)
		if err != nil {
			return err
		}
		if target != "" {
			return &ClaimedError{Name: s.Name, Target: target}
		}
	}
	return nil
}

// othersTarget returns the target of s that is in use by another cluster, or "".
func (m *Manager) othersTarget(ctx context.Context, s Set, taken OfAnother) (string, error) {
	if m.shared && !s.plain() {
		return "what its owner chose, as a record of type " + string(s.wire.Type), nil
	}
	for _, target := range s.Targets {
		others, err := taken(ctx, target)
		if err != nil {
			return "", err
		}
		if others {
			return target, nil
		}
	}
	return "", nil
}
