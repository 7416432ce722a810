// Package groupnode builds the graph nodes of a security group. Package securitygroup describes the group, for the operators, too.
package groupnode

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Group is a security group that a user requests.
type Group struct {
	// ID is the id of the node. The node of the rules is IngressNode.
	ID        string
	DependsOn []string
	VPC       func(rg.IDs) string
	Name      string
	// Spec contains the description and the rules. The node sets name, VPC and tags. A group without rules allows no connection.
	Spec securitygroup.Spec
}

// IngressNode is the id of the node of the rules.
func (g Group) IngressNode() string { return g.ID + "-ingress" }

// Client is the account and region of groups.
type Client struct {
	EC2 *ec2.Client
	// Writer makes one attempt. The engine decides about the next one.
	Writer *ec2.Client
	Owner  awsgraph.Owner
	// Groups lists the owner's security groups of a name, in each VPC.
	Groups func(ctx context.Context, name string) ([]types.SecurityGroup, error)
}

// Nodes returns the node of a group, and a node of its rules if there are any: rules take a call of their own.
func (c Client) Nodes(g Group) []*rg.Node {
	if len(g.Spec.Rules) == 0 {
		return []*rg.Node{c.group(g)}
	}
	return []*rg.Node{c.group(g), c.ingress(g)}
}

func (c Client) group(g Group) *rg.Node {
	spec := g.Spec
	spec.Name, spec.Tags = g.Name, c.Owner.All(g.Name, nil)
	closed := len(spec.Rules) == 0
	return &rg.Node{
		// The name is unique in the VPC.
		ID: g.ID, Kind: "Security group", Name: g.Name, DependsOn: g.DependsOn, ReadsAlone: true, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			attributes := rg.Attributes{"vpc": g.VPC(ids)}
			if closed {
				attributes["ingress"] = text(nil)
			}
			return awsgraph.WithTags(attributes, spec.Tags)
		},
		Immutable: []string{"vpc"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			got, ok, err := c.find(ctx, g.Name, l.ID)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			attributes := rg.Attributes{"vpc": got.VPC}
			if closed {
				attributes["ingress"] = text(spec.Compared(got))
			}
			return rg.Observed{ID: got.ID, Attributes: awsgraph.WithTags(attributes, got.Tags)}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			spec := spec
			spec.VPC = g.VPC(creation.IDs)
			created, err := securitygroup.Create(ctx, c.Writer, spec)
			return rg.Observed{ID: created.ID}, err
		},
		Update: func(ctx context.Context, u rg.Update) error {
			if awsgraph.Changed(u.Changes, "ingress") {
				if err := c.setIngress(ctx, u.Observed.ID, spec); err != nil {
					return err
				}
			}
			_, err := ec2util.EnsureTags(ctx, c.Writer, u.Observed.ID, awsgraph.ChangedTags(u.Changes), nil)
			return err
		},
	}
}

func (c Client) ingress(g Group) *rg.Node {
	return &rg.Node{
		ID: g.IngressNode(), Kind: "Ingress rules of", Name: g.Name, DependsOn: []string{g.ID}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return rg.Attributes{"ingress": text(g.Spec.Desired())} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			id := l.IDs(g.ID)
			if id == "" {
				return rg.Observed{}, nil
			}
			got, ok, err := c.find(ctx, g.Name, id)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: got.ID, Attributes: rg.Attributes{"ingress": text(g.Spec.Compared(got))}}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			id := creation.IDs(g.ID)
			return rg.Observed{ID: id}, c.setIngress(ctx, id, g.Spec)
		},
		Update: func(ctx context.Context, u rg.Update) error { return c.setIngress(ctx, u.Observed.ID, g.Spec) },
	}
}

// text is the attribute of rules.
func text(rules []string) string { return cmp.Or(strings.Join(rules, ", "), "none") }

func (c Client) find(ctx context.Context, name, recorded string) (securitygroup.Group, bool, error) {
	all, err := c.Groups(ctx, name)
	if err != nil {
		return securitygroup.Group{}, false, err
	}
	g, ok := awsgraph.Pick(all, recorded, func(g types.SecurityGroup) string { return aws.ToString(g.GroupId) }, func(types.SecurityGroup) bool { return true })
	return securitygroup.Read(g), ok, nil
}

// setIngress compares with the rules of now: a list may be late.
func (c Client) setIngress(ctx context.Context, id string, spec securitygroup.Spec) error {
	out, err := c.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		return err
	}
	for _, g := range out.SecurityGroups {
		if _, err := securitygroup.SetIngress(ctx, c.Writer, spec, securitygroup.Read(g)); err != nil {
			return err
		}
	}
	return nil
}
