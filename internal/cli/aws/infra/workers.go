package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// workerGroupID returns the id of the security group for nodes, or "".
func (s Spec) workerGroupID(ids rg.IDs) string {
	if !s.WorkerGroup {
		return ""
	}
	return ids(WorkerGroup)
}

func (s Spec) workerGroupName() string { return s.InfraID + "-worker-sg" }

// workerGroup is a security group for nodes. An instance takes only groups of its own account.
func (b builder) workerGroup() *rg.Node {
	c, name := b.ofCluster(), b.workerGroupName()
	tags := b.owner.All(name, nil)
	dependsOn := []string{VPC}
	if b.cluster != nil {
		// An account sees a VPC when it sees a subnet.
		dependsOn = append(dependsOn, "shared-"+publicSubnet(b.Zones[0]))
	}
	return &rg.Node{
		// The name is unique in the VPC.
		ID: WorkerGroup, Kind: "Security group", Name: name, DependsOn: dependsOn, ReadsAlone: true, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"vpc": ids(VPC)}, tags)
		},
		Immutable: []string{"vpc"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			g, ok, err := c.findGroup(ctx, name, l.ID)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(g.GroupId), Attributes: awsgraph.WithTags(rg.Attributes{"vpc": aws.ToString(g.VpcId)}, tagsOf(g.Tags))}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			made, err := c.ec2Writer.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
				GroupName: aws.String(name), Description: aws.String("Workers of " + b.InfraID), VpcId: aws.String(creation.IDs(VPC)),
				TagSpecifications: specification(types.ResourceTypeSecurityGroup, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(made.GroupId)}, nil
		},
		Update: c.updateTags,
	}
}

// workerGroupRules are the rules of the group for nodes. Others stay: cloud controllers add some for load balancers.
func (b builder) workerGroupRules() *rg.Node {
	c, name := b.ofCluster(), b.workerGroupName()
	rules := securitygroup.WorkerRules(b.VPCCIDR)
	attributes := func(rules []securitygroup.Rule) rg.Attributes {
		all := rg.Attributes{}
		for _, r := range rules {
			all[r.Description] = r.String()
		}
		return all
	}
	// authorize adds the rules that the group does not have.
	authorize := func(ctx context.Context, id string) error {
		now, err := c.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		if err != nil {
			return err
		}
		for _, g := range now.SecurityGroups {
			if missing := securitygroup.Missing(g, rules); len(missing) > 0 {
				_, err := c.ec2Writer.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: securitygroup.Permissions(missing, id)})
				return err
			}
		}
		return nil
	}
	return &rg.Node{
		ID: WorkerGroup + "-ingress", Kind: "Ingress rules of", Name: name, DependsOn: []string{WorkerGroup}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return attributes(rules) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			id := l.IDs(WorkerGroup)
			if id == "" {
				return rg.Observed{}, nil
			}
			g, ok, err := c.findGroup(ctx, name, id)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			have := attributes(rules)
			for _, r := range securitygroup.Missing(g, rules) {
				delete(have, r.Description)
			}
			return rg.Observed{ID: id, Attributes: have}, nil
		},
		Create: func(ctx context.Context, creation rg.Creation) (rg.Observed, error) {
			id := creation.IDs(WorkerGroup)
			return rg.Observed{ID: id}, authorize(ctx, id)
		},
		Update: func(ctx context.Context, u rg.Update) error { return authorize(ctx, u.Observed.ID) },
	}
}

func (c *Cloud) findGroup(ctx context.Context, name, recorded string) (types.SecurityGroup, bool, error) {
	all, err := c.machines.Groups(ctx, name)
	if err != nil {
		return types.SecurityGroup{}, false, err
	}
	g, ok := awsgraph.Pick(all, recorded, func(g types.SecurityGroup) string { return aws.ToString(g.GroupId) }, func(types.SecurityGroup) bool { return true })
	return g, ok, nil
}
