package securitygroup

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// Create creates the group without ingress rules.
func Create(ctx context.Context, api Creator, spec Spec) (Group, error) {
	out, err := api.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: &spec.Name, Description: &spec.Description, VpcId: &spec.VPC,
		TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeSecurityGroup, spec.Tags),
	})
	if err != nil {
		return Group{}, err
	}
	return Group{ID: aws.ToString(out.GroupId), Name: spec.Name, VPC: spec.VPC, Tags: spec.Tags}, nil
}

// Change lists the rules that SetIngress has authorized and revoked.
type Change struct {
	authorized, revoked []ingress
	// stale is whether the group had already changed after it was read.
	stale bool
}

// SetIngress makes the rules of a group match spec. Missing rules are authorized first, so that a source that stays allowed is not
// locked out in between. got may be older than the group: a rule that exists already, or is gone already, is no error. After an error,
// Change contains the changes before it.
func SetIngress(ctx context.Context, api Ingress, spec Spec, got Group) (Change, error) {
	var done Change
	var err error
	authorize, revoke := diff(spec, got)
	done.authorized, err = changeEach(authorize, "InvalidPermission.Duplicate", func(rules []types.IpPermission) error {
		_, err := api.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &got.ID, IpPermissions: rules})
		return err
	})
	if n := len(done.authorized); n > 0 {
		spec.Hooks.Changed(got.ID, fmt.Sprintf("%d missing rules authorized", n))
	}
	if err != nil {
		return done, fmt.Errorf("authorizing ingress of security group %s: %w", got.ID, err)
	}
	done.revoked, err = changeEach(revoke, "InvalidPermission.NotFound", func(rules []types.IpPermission) error {
		_, err := api.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &got.ID, IpPermissions: rules})
		return err
	})
	if n := len(done.revoked); n > 0 {
		spec.Hooks.Changed(got.ID, fmt.Sprintf("%d rules revoked that are not wanted", n))
	}
	if err != nil {
		return done, fmt.Errorf("revoking ingress of security group %s: %w", got.ID, err)
	}
	done.stale = len(done.authorized) < len(authorize) || len(done.revoked) < len(revoke)
	return done, nil
}

// changeEach changes rules in one call, and returns those that it has changed. EC2 refuses the whole call, with the code, if one rule is as
// desired already: then each rule is changed alone, and the code is no error. Such a rule was changed after the group was read, for example
// by the last call of a process that was killed.
func changeEach(rules []ingress, code string, change func([]types.IpPermission) error) (changed []ingress, err error) {
	if len(rules) == 0 {
		return nil, nil
	}
	err = change(wire(rules))
	switch {
	case err == nil:
		return rules, nil
	case awsx.Code(err) != code:
		return nil, err
	case len(rules) == 1:
		return nil, nil
	}
	for _, r := range rules {
		err := change(wire([]ingress{r}))
		if err == nil {
			changed = append(changed, r)
		} else if awsx.Code(err) != code {
			return changed, err
		}
	}
	return changed, nil
}

// revised returns the group after a change of its rules, and with the tags of the spec.
func (s Spec) revised(got Group, c Change) Group {
	got.ingress = slices.DeleteFunc(slices.Concat(got.ingress, c.authorized), func(i ingress) bool {
		return slices.ContainsFunc(c.revoked, func(r ingress) bool { return r.key() == i.key() })
	})
	tags := awsx.Tags{}
	for _, from := range []awsx.Tags{got.Tags, s.Tags} {
		for key, value := range from {
			tags[key] = value
		}
	}
	for _, key := range s.StaleTags {
		delete(tags, key)
	}
	got.Tags = tags
	return got
}

// Compared describes the ingress rules of a group as far as spec compares them, sorted: all of its rules, without those that spec leaves
// to others.
func (s Spec) Compared(got Group) []string {
	_, revoke := diff(s, got)
	compared := revoke
	for _, r := range s.Rules {
		if i := r.ingress(got.ID); slices.ContainsFunc(got.ingress, func(has ingress) bool { return has.key() == i.key() }) {
			compared = append(compared, i)
		}
	}
	return describe(got.ID, compared)
}

// Desired describes the rules of the spec, in the form of Compared.
func (s Spec) Desired() []string {
	var all []ingress
	for _, r := range s.Rules {
		all = append(all, r.ingress(""))
	}
	return describe("", all)
}

func describe(group string, rules []ingress) []string {
	var out []string
	for _, i := range rules {
		out = append(out, i.describe(group))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// describe describes a rule of a group, such as "tcp 443-443 from 10.0.0.0/16".
func (i ingress) describe(group string) string {
	source := i.source
	if source == group {
		source = "the group"
	}
	switch {
	case i.protocol == AllProtocols:
		return "all from " + source
	case i.wire.FromPort == nil:
		return i.protocol + " from " + source
	}
	return fmt.Sprintf("%s %d-%d from %s", i.protocol, i.from, i.to, source)
}
