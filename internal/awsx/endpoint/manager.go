package endpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
)

// A Manager manages the endpoints of one owner in one VPC.
type Manager struct {
	api    API
	owner  string
	cached *cache.List[Endpoint]
}

// shared is the key of a Manager that the objects of a cluster share.
type shared struct{ owner, vpc string }

// Shared returns the Manager of an owner's endpoints in a VPC. All callers get the
// same one, so that one list serves them all.
func Shared(s *identity.Session, clk clock.PassiveClock, owner, vpc string) *Manager {
	return identity.Shared(s, shared{owner, vpc}, func() *Manager {
		return NewManager(awsx.EC2(s.Config), clk, owner, vpc)
	})
}

// NewManager returns a Manager that calls api.
func NewManager(api API, clk clock.PassiveClock, owner, vpc string) *Manager {
	m := &Manager{api: api, owner: owner}
	m.cached = cache.NewList(cache.ListOptions[Endpoint]{
		Clock: clk, Key: func(e Endpoint) string { return e.ID },
		Load: func(ctx context.Context) ([]Endpoint, error) { return list(ctx, api, owner, vpc) },
	})
	return m
}

// Invalidate makes the next use list from AWS, unless the last list is younger than age.
func (m *Manager) Invalidate(age time.Duration) { m.cached.Invalidate(age) }

// Age is the age of the last list.
func (m *Manager) Age() time.Duration { return m.cached.Age() }

// List returns the owner's endpoints, the leaving ones too.
func (m *Manager) List(ctx context.Context) ([]Endpoint, error) { return m.cached.All(ctx) }

func list(ctx context.Context, api API, owner, vpc string) ([]Endpoint, error) {
	var out []Endpoint
	pages := ec2.NewDescribeVpcEndpointsPaginator(api, &ec2.DescribeVpcEndpointsInput{Filters: ec2util.Owned(owner, vpc)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing VPC endpoints of %s: %w", vpc, err)
		}
		for _, e := range page.VpcEndpoints {
			if got := Read(e); got.State != Deleted {
				out = append(out, got)
			}
		}
	}
	return out, nil
}

// Ensure makes the endpoint match spec and returns its current state. It makes one
// change at a time: until that is complete the endpoint is Pending, and a later call
// makes the next.
func (m *Manager) Ensure(ctx context.Context, spec Spec) (Endpoint, error) {
	all, err := m.List(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	got, spare := choose(all, spec)
	for _, e := range spare {
		if err := m.delete(ctx, e); err != nil {
			return Endpoint{}, err
		}
	}
	switch {
	case got == nil:
		return m.create(ctx, spec)
	case got.State.Dead() || got.ServiceName != spec.ServiceName:
		return *got, m.delete(ctx, *got)
	}
	return m.modify(ctx, spec, *got)
}

// choose picks the endpoint with spec's role and returns the spare ones. There
// are two when a crash and a slow list of AWS came together; the recorded one
// stays, because records and routes point to it.
func choose(all []Endpoint, spec Spec) (got *Endpoint, spare []Endpoint) {
	for _, e := range withRole(all, spec.Role) {
		switch {
		case got == nil:
			got = &e
		case e.ID == spec.Previous:
			spare = append(spare, *got)
			got = &e
		default:
			spare = append(spare, e)
		}
	}
	return got, spare
}

// withRole returns the endpoints with that role that are not leaving, oldest id first.
func withRole(all []Endpoint, role string) []Endpoint {
	var out []Endpoint
	for _, e := range all {
		if e.Tags[awsx.RoleTag] == role && !e.State.Leaving() {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Endpoint) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (m *Manager) create(ctx context.Context, spec Spec) (Endpoint, error) {
	if err := spec.Hooks.Creating(ctx); err != nil {
		return Endpoint{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Creating VPC endpoint", "service", spec.ServiceName, "vpc", spec.VPC, "subnets", spec.Subnets)
	got, err := Create(ctx, m.api, spec, token(spec))
	if err != nil {
		m.Invalidate(0)
		return Endpoint{}, fmt.Errorf("creating VPC endpoint to %s: %w", spec.ServiceName, err)
	}
	if got.State.Leaving() {
		// The token belongs to an earlier endpoint, which was deleted. Recording
		// its id gives the next attempt another token.
		return got, nil
	}
	m.cached.Put(got)
	return got, nil
}

func (m *Manager) modify(ctx context.Context, spec Spec, got Endpoint) (Endpoint, error) {
	// A change of an endpoint that is still pending could remove the working zone
	// before its replacement works.
	if change, isSetting := diff(spec, got); change != nil && got.State == Available {
		what := describe(change)
		ctrl.LoggerFrom(ctx).Info("Modifying VPC endpoint", "endpoint", got.ID, "change", what)
		_, err := m.api.ModifyVpcEndpoint(ctx, change)
		switch {
		case err == nil:
			m.Invalidate(0)
			got.State = Pending
			spec.Hooks.Changed(got.ID, what)
		case isSetting && (awsx.IsDenied(err) || awsx.IsInvalid(err)):
			// The endpoint serves as it is. The next resync finds the difference again.
			spec.Hooks.Skipped(got.ID, "not allowed: "+what+": "+awsx.Message(err))
		default:
			m.Invalidate(0)
			return got, fmt.Errorf("modifying VPC endpoint %s: %w", got.ID, err)
		}
	}
	changed, err := ec2util.Retag(ctx, m.api, got.ID, spec.Tags, got.Tags, spec.StaleTags, spec.Hooks)
	if changed || err != nil {
		m.Invalidate(0)
	}
	return got, err
}

// Delete starts to delete the endpoints with that role, or all if role is
// empty, and returns the endpoints that still exist. recorded is the id of an
// endpoint that was created, and that AWS may not list yet.
func (m *Manager) Delete(ctx context.Context, role, recorded string) (remaining []Endpoint, err error) {
	all, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	if m.cached.IsUnaccounted(recorded) {
		all = append(all, Endpoint{ID: recorded, Tags: awsx.Tags{awsx.RoleTag: role}})
	}
	for _, e := range all {
		if role != "" && e.Tags[awsx.RoleTag] != role {
			continue
		}
		if !e.State.Leaving() {
			if err := m.delete(ctx, e); err != nil {
				return nil, err
			}
			e.State = Deleting
		}
		remaining = append(remaining, e)
	}
	return remaining, nil
}

// delete starts to delete one endpoint.
func (m *Manager) delete(ctx context.Context, e Endpoint) error {
	ctrl.LoggerFrom(ctx).Info("Deleting VPC endpoint", "endpoint", e.ID)
	err := Delete(ctx, m.api, e.ID)
	if awsx.IsNotFound(err) || awsx.IsDenied(err) && m.isGone(ctx, e.ID) {
		m.cached.Remove(e.ID)
		return nil
	}
	if err != nil {
		m.Invalidate(0)
		return fmt.Errorf("deleting VPC endpoint %s: %w", e.ID, err)
	}
	m.cached.MarkDeleted(e.ID)
	e.State = Deleting
	m.cached.Update(e)
	return nil
}

// isGone is true if EC2 has no endpoint with that id. A policy that requires the
// cluster's tag denies the deletion of an endpoint that does not exist, because
// that has no tags.
func (m *Manager) isGone(ctx context.Context, id string) bool {
	_, err := m.api.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
	return awsx.IsNotFound(err)
}

// OfAnother is true if an endpoint with that id exists and has another owner, except for replaced, the owner of endpoints that ours
// replace, or "". It is called only for a record that does not have our target.
func (m *Manager) OfAnother(ctx context.Context, id, replaced string) (bool, error) {
	out, err := m.api.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
	if awsx.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describing VPC endpoint %s: %w", id, err)
	}
	for _, e := range out.VpcEndpoints {
		got := Read(e)
		owner := got.Tags[awsx.OwnerTag]
		if !got.State.Leaving() && owner != m.owner && (owner == "" || owner != replaced) {
			return true, nil
		}
	}
	return false, nil
}
