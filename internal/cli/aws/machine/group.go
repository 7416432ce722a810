package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// noIngress is the attribute of a group that lets nothing in.
const noIngress = "none"

func (m Machine) ingressNode() string { return m.GroupNode + "-ingress" }

func (c *Client) group(m Machine) *rg.Node {
	tags := c.owner.All(m.GroupName, nil)
	return &rg.Node{
		// The name is unique in the VPC.
		ID: m.GroupNode, Kind: "Security group", Name: m.GroupName, DependsOn: m.GroupPlace, ReadsAlone: true, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			attributes := rg.Attributes{"vpc": m.VPC(ids)}
			if len(m.Ingress) == 0 {
				attributes["ingress"] = noIngress
			}
			return awsgraph.WithTags(attributes, tags)
		},
		Immutable: []string{"vpc"},
		Initial:   func() (rg.Attributes, error) { return rg.Attributes{"description": m.GroupDescription}, nil },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			g, ok, err := c.findGroup(ctx, m.GroupName, l.ID)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: groupID(g), Attributes: awsgraph.WithTags(rg.Attributes{"vpc": aws.ToString(g.VpcId), "ingress": describe(g.IpPermissions)}, ec2util.Tags(g.Tags))}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			made, err := c.writer.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
				GroupName: aws.String(m.GroupName), Description: aws.String(m.GroupDescription), VpcId: aws.String(m.VPC(creation.IDs)),
				TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeSecurityGroup, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(made.GroupId)}, nil
		},
		Update: func(ctx context.Context, u rg.Update) error {
			if awsgraph.Changed(u.Changes, "ingress") {
				if err := c.setRules(ctx, u.Observed.ID, nil); err != nil {
					return err
				}
			}
			return c.updateTags(ctx, u)
		},
	}
}

// rules are those of the group. They take a call of their own.
func (c *Client) rules(m Machine) *rg.Node {
	return &rg.Node{
		ID: m.ingressNode(), Kind: "Ingress rules of", Name: m.GroupName, DependsOn: []string{m.GroupNode}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return rg.Attributes{"ingress": describe(m.Ingress)} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(m.GroupNode) == "" {
				return rg.Observed{}, nil
			}
			g, ok, err := c.findGroup(ctx, m.GroupName, l.IDs(m.GroupNode))
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: groupID(g), Attributes: rg.Attributes{"ingress": describe(g.IpPermissions)}}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			id := creation.IDs(m.GroupNode)
			return rg.Observed{ID: id}, c.setRules(ctx, id, m.Ingress)
		},
		Update: func(ctx context.Context, u rg.Update) error { return c.setRules(ctx, u.Observed.ID, m.Ingress) },
	}
}

func groupID(g types.SecurityGroup) string { return aws.ToString(g.GroupId) }

func (c *Client) findGroup(ctx context.Context, name, recorded string) (types.SecurityGroup, bool, error) {
	all, err := c.Groups(ctx, name)
	if err != nil {
		return types.SecurityGroup{}, false, err
	}
	g, ok := awsgraph.Pick(all, recorded, groupID, func(types.SecurityGroup) bool { return true })
	return g, ok, nil
}

// setRules revokes the rules that are not wanted, and adds those that are missing.
func (c *Client) setRules(ctx context.Context, id string, want []types.IpPermission) error {
	now, err := c.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		return err
	}
	var have []types.IpPermission
	for _, g := range now.SecurityGroups {
		have = append(have, single(g.IpPermissions)...)
	}
	if revoke := without(have, want); len(revoke) > 0 {
		if _, err := c.writer.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(id), IpPermissions: revoke}); err != nil {
			return err
		}
	}
	if add := without(want, have); len(add) > 0 {
		_, err := c.writer.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(id), IpPermissions: add})
		return err
	}
	return nil
}

// without returns the rules that are not among the others.
func without(rules, others []types.IpPermission) []types.IpPermission {
	return slices.DeleteFunc(slices.Clone(rules), func(r types.IpPermission) bool {
		return slices.ContainsFunc(others, func(o types.IpPermission) bool { return rule(o) == rule(r) })
	})
}

// single returns the rules with one source each.
func single(rules []types.IpPermission) (all []types.IpPermission) {
	for _, r := range rules {
		one := types.IpPermission{IpProtocol: r.IpProtocol, FromPort: r.FromPort, ToPort: r.ToPort}
		add := func(set func(*types.IpPermission)) {
			p := one
			set(&p)
			all = append(all, p)
		}
		for _, source := range r.IpRanges {
			add(func(p *types.IpPermission) { p.IpRanges = []types.IpRange{source} })
		}
		for _, source := range r.Ipv6Ranges {
			add(func(p *types.IpPermission) { p.Ipv6Ranges = []types.Ipv6Range{source} })
		}
		for _, source := range r.PrefixListIds {
			add(func(p *types.IpPermission) { p.PrefixListIds = []types.PrefixListId{source} })
		}
		for _, source := range r.UserIdGroupPairs {
			add(func(p *types.IpPermission) { p.UserIdGroupPairs = []types.UserIdGroupPair{source} })
		}
	}
	return all
}

// describe describes what rules let in.
func describe(rules []types.IpPermission) string {
	var open []string
	for _, r := range single(rules) {
		open = append(open, rule(r))
	}
	if len(open) == 0 {
		return noIngress
	}
	slices.Sort(open)
	return strings.Join(open, ", ")
}

// rule describes a rule with one source.
func rule(r types.IpPermission) string {
	text := aws.ToString(r.IpProtocol)
	if r.FromPort != nil {
		text += fmt.Sprintf(" %d-%d", *r.FromPort, aws.ToInt32(r.ToPort))
	}
	for _, source := range r.IpRanges {
		text += " from " + aws.ToString(source.CidrIp)
	}
	for _, source := range r.Ipv6Ranges {
		text += " from " + aws.ToString(source.CidrIpv6)
	}
	for _, source := range r.PrefixListIds {
		text += " from " + aws.ToString(source.PrefixListId)
	}
	for _, source := range r.UserIdGroupPairs {
		text += " from " + aws.ToString(source.GroupId)
	}
	return text
}
