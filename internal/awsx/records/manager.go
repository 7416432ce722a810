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
	"github.com/hosted-control-planes/hypershift/internal/awsx/owned"
)

// A Keeper keeps our records in one hosted zone.
type Manager struct {
	api  API
	zone string
	seen *owned.List[Set]
}

// OfAnother says whether target is in use by somebody else.
type OfAnother func(ctx context.Context, target string) (bool, error)

// NewManager returns a Keeper that makes its calls with api.
func NewManager(api API, clk clock.PassiveClock, zoneID string) *Manager {
	return &Manager{api: api, zone: zoneID, seen: owned.New(clk, Set.key, func(ctx context.Context) ([]Set, error) {
		return list(ctx, api, zoneID)
	})}
}

// Look makes the next pass look at AWS, unless another one did within age.
func (k *Manager) Look(age time.Duration) { k.seen.Forget(age) }

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

// Ensure makes the records stand as they are written. What stands in the way
// at one of their names is replaced, unless it serves somebody else.
func (k *Manager) Ensure(ctx context.Context, want []Record, taken OfAnother) error {
	have, err := k.seen.Get(ctx)
	if err != nil {
		return err
	}
	var changes []types.Change
	for _, r := range want {
		wrong, stands := at(have, r)
		if stands && len(wrong) == 0 {
			continue
		}
		if err := claimed(ctx, wrong, taken); err != nil {
			return err
		}
		changes = append(changes, replace(wrong, r)...)
	}
	return k.change(ctx, changes)
}

// at says whether r stands at its name, and returns what stands there instead.
func at(have []Set, r Record) (wrong []Set, stands bool) {
	for _, s := range have {
		switch {
		case s.Name != canonical(r.Name):
		case s.is(r):
			stands = true
		default:
			wrong = append(wrong, s)
		}
	}
	return wrong, stands
}

// replace returns the changes that put r where wrong stands. An upsert takes
// the place of a plain CNAME only; a CNAME suffers nothing else beside it.
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

// Delete deletes what stands at the names, unless it serves somebody else. A
// zone that is gone has no records.
func (k *Manager) Delete(ctx context.Context, names []string, taken OfAnother) error {
	have, err := k.seen.Get(ctx)
	if awsx.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var changes []types.Change
	for _, s := range have {
		if !slices.ContainsFunc(names, func(n string) bool { return canonical(n) == s.Name }) {
			continue
		}
		others, err := othersTarget(ctx, s, taken)
		if err != nil {
			return err
		}
		if others == "" {
			changes = append(changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &s.wire})
		}
	}
	return k.change(ctx, changes)
}

// change sends one batch: all of it happens or nothing. After a refusal or a
// lost answer we know nothing and look again.
func (k *Manager) change(ctx context.Context, changes []types.Change) error {
	if len(changes) == 0 {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Changing DNS records", "zone", k.zone, "changes", len(changes))
	_, err := k.api.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &k.zone, ChangeBatch: &types.ChangeBatch{Changes: changes},
	})
	if err != nil {
		k.Look(0)
		return fmt.Errorf("changing records of hosted zone %s: %w", k.zone, err)
	}
	for _, c := range changes {
		set := read(*c.ResourceRecordSet)
		if c.Action == types.ChangeActionDelete {
			k.seen.Gone(set.key())
			continue
		}
		k.seen.Made(set)
	}
	return nil
}

func claimed(ctx context.Context, sets []Set, taken OfAnother) error {
	for _, s := range sets {
		target, err := othersTarget(ctx, s, taken)
		if err != nil {
			return err
		}
		if target != "" {
			return &ClaimedError{Name: s.Name, Target: target}
		}
	}
	return nil
}

// othersTarget returns the target of s that somebody else needs, or "".
func othersTarget(ctx context.Context, s Set, taken OfAnother) (string, error) {
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
