package securitygroup

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
)

// A Manager manages the security groups of one owner in one VPC.
type Manager struct {
	api    API
	cached *cache.List[Group]
}

// shared is the key of a Manager that the controllers of a cluster share.
type shared struct{ owner, vpc string }

// Shared returns the Manager of an owner's groups in a VPC. All controllers get the
// same one, so that one list serves them all.
func Shared(s *identity.Session, clk clock.PassiveClock, owner, vpc string) *Manager {
	return identity.Shared(s, shared{owner, vpc}, func() *Manager {
		return NewManager(awsx.EC2(s.Config), clk, owner, vpc)
	})
}

// NewManager returns a Manager that calls api.
func NewManager(api API, clk clock.PassiveClock, owner, vpc string) *Manager {
	return &Manager{api: api, cached: cache.NewList(cache.ListOptions[Group]{
		Clock: clk, Key: func(g Group) string { return g.ID },
		Load: func(ctx context.Context) ([]Group, error) { return list(ctx, api, owner, vpc) },
	})}
}

// Invalidate makes the next use list from AWS, unless the last list is younger than age.
func (m *Manager) Invalidate(age time.Duration) { m.cached.Invalidate(age) }

// Age is the age of the last list.
func (m *Manager) Age() time.Duration { return m.cached.Age() }

// List returns the owner's groups.
func (m *Manager) List(ctx context.Context) ([]Group, error) { return m.cached.All(ctx) }

func list(ctx context.Context, api API, owner, vpc string) ([]Group, error) {
	var out []Group
	pages := ec2.NewDescribeSecurityGroupsPaginator(api, &ec2.DescribeSecurityGroupsInput{Filters: ec2util.Owned(owner, vpc)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing security groups of %s: %w", vpc, err)
		}
		for _, g := range page.SecurityGroups {
			out = append(out, Read(g))
		}
	}
	return out, nil
}

// Ensure makes the group match spec and returns its id.
func (m *Manager) Ensure(ctx context.Context, spec Spec) (id string, err error) {
	all, err := m.List(ctx)
	if err != nil {
		return "", err
	}
	got, created, err := m.findOrCreate(ctx, all, spec)
	if err != nil {
		return "", err
	}
	if created {
		spec.Hooks = awsx.Hooks{} // the first rules are no repair
	}
	if err := m.repair(ctx, spec, got); err != nil {
		m.Invalidate(0)
		return got.ID, err
	}
	return got.ID, nil
}

func (m *Manager) findOrCreate(ctx context.Context, all []Group, spec Spec) (got Group, created bool, err error) {
	for _, g := range all {
		if g.Tags[awsx.RoleTag] == spec.Role {
			return g, false, nil
		}
	}
	if err := spec.Hooks.Creating(ctx); err != nil {
		return Group{}, false, err
	}
	ctrl.LoggerFrom(ctx).Info("Creating security group", "groupName", spec.Name, "vpc", spec.VPC)
	got, err = Create(ctx, m.api, spec)
	if awsx.IsExists(err) {
		m.Invalidate(0)
		got, err = m.inherit(ctx, spec)
		return got, false, err
	}
	if err != nil {
		m.Invalidate(0)
		return Group{}, false, fmt.Errorf("creating security group %s: %w", spec.Name, err)
	}
	m.cached.Put(got)
	return got, true, nil
}

// inherit finds the group with the name, if it belongs to an earlier control plane of
// the same cluster: its namespace was deleted without its resources in AWS. Our tags
// are then added like any that are missing.
func (m *Manager) inherit(ctx context.Context, spec Spec) (Group, error) {
	pages := ec2.NewDescribeSecurityGroupsPaginator(m.api, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{
		{Name: aws.String("group-name"), Values: []string{spec.Name}},
		{Name: aws.String("vpc-id"), Values: []string{spec.VPC}},
	}})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return Group{}, fmt.Errorf("looking at security group %s, which exists: %w", spec.Name, err)
		}
		for _, g := range out.SecurityGroups {
			if got := Read(g); spec.Tags.Inherit(got.Tags) {
				ctrl.LoggerFrom(ctx).Info("Taking over the security group of an earlier control plane", "group", got.ID, "owner", got.Tags[awsx.OwnerTag])
				return got, nil
			}
		}
	}
	return Group{}, &TakenError{Name: spec.Name, VPC: spec.VPC}
}

// repair repairs rules and tags of the group.
func (m *Manager) repair(ctx context.Context, spec Spec, got Group) error {
	change, err := SetIngress(ctx, m.api, spec, got)
	if err != nil {
		return err
	}
	changed := len(change.authorized)+len(change.revoked) > 0
	if changed {
		ctrl.LoggerFrom(ctx).Info("Changed ingress of security group", "group", got.ID, "authorized", len(change.authorized), "revoked", len(change.revoked))
	}
	tagged, err := ec2util.Retag(ctx, m.api, got.ID, spec.Tags, got.Tags, spec.StaleTags, spec.Hooks)
	if err != nil {
		return err
	}
	switch {
	case change.stale:
		m.Invalidate(0)
	case changed || tagged:
		m.cached.Put(spec.revised(got, change))
	}
	return nil
}

// Delete deletes the groups with a role for which doomed is true. recorded is the id
// of a group that was created, and that AWS may not list yet. The error of a
// group that is still in use is awsx.IsInUse.
func (m *Manager) Delete(ctx context.Context, doomed func(role string) bool, recorded string) error {
	all, err := m.List(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, g := range all {
		if doomed(g.Tags[awsx.RoleTag]) {
			ids = append(ids, g.ID)
		}
	}
	if m.cached.IsUnaccounted(recorded) {
		ids = append(ids, recorded)
	}
	for _, id := range ids {
		ctrl.LoggerFrom(ctx).Info("Deleting security group", "group", id)
		_, err := m.api.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		deleted := err == nil || awsx.IsNotFound(err) || awsx.IsDenied(err) && m.isGone(ctx, id)
		if !deleted {
			m.Invalidate(0)
			return fmt.Errorf("deleting security group %s: %w", id, err)
		}
		m.cached.Remove(id)
	}
	return nil
}

// isGone is true if EC2 has no group with that id. A policy that requires the
// cluster's tag denies the deletion of a group that does not exist, because that has
// no tags.
func (m *Manager) isGone(ctx context.Context, id string) bool {
	_, err := m.api.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	return awsx.IsNotFound(err)
}
