package securitygroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/owned"
)

// A Keeper keeps the security groups of one owner in one VPC.
type Manager struct {
	api  API
	seen *owned.List[Group]
}

// NewManager returns a Keeper that makes its calls with api.
func NewManager(api API, clk clock.PassiveClock, owner, vpc string) *Manager {
	return &Manager{api: api, seen: owned.New(clk, func(g Group) string { return g.ID }, func(ctx context.Context) ([]Group, error) {
		return list(ctx, api, owner, vpc)
	})}
}

// Look makes the next pass look at AWS, unless another one did within age.
func (k *Manager) Look(age time.Duration) { k.seen.Forget(age) }

// Age is how long ago the last look was.
func (k *Manager) Age() time.Duration { return k.seen.Age() }

// List returns the owner's groups.
func (k *Manager) List(ctx context.Context) ([]Group, error) { return k.seen.Get(ctx) }

func list(ctx context.Context, api API, owner, vpc string) ([]Group, error) {
	var out []Group
	pages := ec2.NewDescribeSecurityGroupsPaginator(api, &ec2.DescribeSecurityGroupsInput{Filters: ec2util.Owned(owner, vpc)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing security groups of %s: %w", vpc, err)
		}
		for _, g := range page.SecurityGroups {
			out = append(out, read(g))
		}
	}
	return out, nil
}

// Ensure makes the group match spec and returns its id.
func (k *Manager) Ensure(ctx context.Context, spec Spec) (id string, err error) {
	all, err := k.List(ctx)
	if err != nil {
		return "", err
	}
	got, made, err := k.findOrCreate(ctx, all, spec)
	if err != nil {
		return "", err
	}
	if made {
		spec.Witness = owned.Witness{} // the first rules are no repair
	}
	if err := k.repair(ctx, spec, got); err != nil {
		k.Look(0)
		return got.ID, err
	}
	return got.ID, nil
}

func (k *Manager) findOrCreate(ctx context.Context, all []Group, spec Spec) (got Group, made bool, err error) {
	for _, g := range all {
		if g.Tags[awsx.RoleTag] == spec.Role {
			return g, false, nil
		}
	}
	if err := spec.Witness.BeforeCreate(ctx); err != nil {
		return Group{}, false, err
	}
	ctrl.LoggerFrom(ctx).Info("Creating security group", "groupName", spec.Name, "vpc", spec.VPC)
	out, err := k.api.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: &spec.Name, Description: &spec.Description, VpcId: &spec.VPC,
		TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeSecurityGroup, spec.Tags),
	})
	if awsx.IsExists(err) {
		k.Look(0)
		got, err := k.inherit(ctx, spec)
		return got, false, err
	}
	if err != nil {
		k.Look(0)
		return Group{}, false, fmt.Errorf("creating security group %s: %w", spec.Name, err)
	}
	got = Group{ID: aws.ToString(out.GroupId), Name: spec.Name, Tags: spec.Tags}
	k.seen.Made(got)
	return got, true, nil
}

// inherit finds the group that has the name, if it is of an earlier control plane
// of the same cluster: somebody has deleted that one without its group. Tags of
// ours are put on it like any that are missing.
func (k *Manager) inherit(ctx context.Context, spec Spec) (Group, error) {
	out, err := k.api.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{
		{Name: aws.String("group-name"), Values: []string{spec.Name}},
		{Name: aws.String("vpc-id"), Values: []string{spec.VPC}},
	}})
	if err != nil {
		return Group{}, fmt.Errorf("looking at security group %s, which exists: %w", spec.Name, err)
	}
	for _, g := range out.SecurityGroups {
		if got := read(g); spec.Tags.Inherit(got.Tags) {
			ctrl.LoggerFrom(ctx).Info("Taking over the security group of an earlier control plane", "group", got.ID, "owner", got.Tags[awsx.OwnerTag])
			return got, nil
		}
	}
	return Group{}, &TakenError{Name: spec.Name, VPC: spec.VPC}
}

// repair makes rules and tags of the group what they should be. What is
// missing comes first: nobody who is let in for good is locked out meanwhile.
func (k *Manager) repair(ctx context.Context, spec Spec, got Group) error {
	log := ctrl.LoggerFrom(ctx).WithValues("group", got.ID)
	authorize, revoke := diff(spec, got)
	if len(authorize) > 0 {
		log.Info("Authorizing ingress", "rules", len(authorize))
		_, err := k.api.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &got.ID, IpPermissions: wire(authorize)})
		if err != nil {
			return fmt.Errorf("authorizing ingress of security group %s: %w", got.ID, err)
		}
		spec.Witness.Tell(got.ID, fmt.Sprintf("%d missing rules authorized", len(authorize)))
	}
	if len(revoke) > 0 {
		log.Info("Revoking ingress", "rules", len(revoke))
		_, err := k.api.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &got.ID, IpPermissions: wire(revoke)})
		if err != nil {
			return fmt.Errorf("revoking ingress of security group %s: %w", got.ID, err)
		}
		spec.Witness.Tell(got.ID, fmt.Sprintf("%d rules revoked that nobody here wants", len(revoke)))
	}
	tagged, err := ec2util.Retag(ctx, k.api, got.ID, spec.Tags, got.Tags, spec.StaleTags, spec.Witness)
	if err != nil {
		return err
	}
	if len(authorize)+len(revoke) > 0 || tagged {
		k.seen.Made(as(spec, got, authorize, revoke))
	}
	return nil
}

// as is got after it was repaired.
func as(spec Spec, got Group, authorized, revoked []ingress) Group {
	got.ingress = slices.DeleteFunc(slices.Concat(got.ingress, authorized), func(i ingress) bool {
		return slices.ContainsFunc(revoked, func(r ingress) bool { return r.key() == i.key() })
	})
	tags := awsx.Tags{}
	for _, from := range []awsx.Tags{got.Tags, spec.Tags} {
		for key, value := range from {
			tags[key] = value
		}
	}
	for _, key := range spec.StaleTags {
		delete(tags, key)
	}
	got.Tags = tags
	return got
}

// Delete deletes the groups with a role that doomed says. recorded is the id of
// one of which we know that it was made: AWS may not list it yet. The error of a
// group that is still in use is awsx.IsInUse.
func (k *Manager) Delete(ctx context.Context, doomed func(role string) bool, recorded string) error {
	all, err := k.List(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, g := range all {
		if doomed(g.Tags[awsx.RoleTag]) {
			ids = append(ids, g.ID)
		}
	}
	if k.seen.Missing(recorded) {
		ids = append(ids, recorded)
	}
	for _, id := range ids {
		ctrl.LoggerFrom(ctx).Info("Deleting security group", "group", id)
		_, err := k.api.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		gone := err == nil || awsx.IsNotFound(err) || awsx.IsDenied(err) && k.isGone(ctx, id)
		if !gone {
			k.Look(0)
			return fmt.Errorf("deleting security group %s: %w", id, err)
		}
		k.seen.Gone(id)
	}
	return nil
}

// isGone says whether EC2 has no group with that id. A policy that asks for the
// cluster's tag refuses the deletion of a group that does not exist, because
// what does not exist has no tags.
func (k *Manager) isGone(ctx context.Context, id string) bool {
	_, err := k.api.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	return awsx.IsNotFound(err)
}
