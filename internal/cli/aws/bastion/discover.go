package bastion

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/machine"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Discover finds the resources of the bastion for their deletion. kept are resources with its names that are not the cluster's.
func (c *Cloud) Discover(ctx context.Context) (_ *rg.Graph, kept []string, _ error) {
	var instances []types.Instance
	var groups []types.SecurityGroup
	var roleNode, profileNode *rg.Node
	var foreignRole, foreignProfile error
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		instances, err = c.machines.Instances(groupCtx, c.name())
		return err
	})
	group.Go(func() (err error) {
		groups, err = c.machines.Groups(groupCtx, c.name())
		return err
	})
	group.Go(func() (err error) {
		roleNode, foreignRole, err = c.iam.Find(groupCtx, c.name())
		return err
	})
	group.Go(func() (err error) {
		profileNode, foreignProfile, err = c.iam.FindProfile(groupCtx, profile, c.name())
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for _, err := range []error{foreignRole, foreignProfile} {
		if err != nil {
			kept = append(kept, err.Error())
		}
	}
	var nodes []*rg.Node
	var below []string // the resources that an instance uses
	for _, g := range groups {
		n := existing("Security group", aws.ToString(g.GroupName), aws.ToString(g.GroupId))
		n.Read = func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.Fresh { // its deletion was refused
				now, err := c.machines.Groups(ctx, c.name())
				if err != nil || !slices.ContainsFunc(now, func(other types.SecurityGroup) bool { return aws.ToString(other.GroupId) == n.ID }) {
					return rg.Observed{}, err
				}
			}
			return rg.Observed{ID: n.ID}, nil
		}
		n.Delete = func(ctx context.Context, _ rg.Observed) error {
			_, err := c.writer.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
			return err
		}
		nodes, below = append(nodes, n), append(below, n.ID)
	}
	if roleNode != nil {
		nodes = append(nodes, roleNode)
	}
	if profileNode != nil {
		if roleNode != nil {
			profileNode.DependsOn = []string{roleNode.ID}
		}
		nodes, below = append(nodes, profileNode), append(below, profileNode.ID)
	}
	for _, i := range instances {
		if machine.Terminated(i) {
			continue
		}
		n := c.running(i)
		n.DependsOn = below
		nodes = append(nodes, n)
	}
	graph, err := rg.New(nodes...)
	return graph, kept, err
}

func existing(kind, name, id string) *rg.Node {
	return &rg.Node{
		ID: id, Kind: kind, Name: name, Parent: "-",
		Read: func(context.Context, rg.Lookup) (rg.Observed, error) { return rg.Observed{ID: id}, nil },
	}
}

// running is an instance that is terminated, and read until it is gone: its group is in use until then.
func (c *Cloud) running(i types.Instance) *rg.Node {
	id := aws.ToString(i.InstanceId)
	n := existing("Instance", c.name(), id)
	n.SlowDeletion = true
	n.Read = func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
		if l.Fresh {
			now, err := c.machines.Instances(ctx, c.name())
			if err != nil {
				return rg.Observed{}, err
			}
			if !slices.ContainsFunc(now, func(other types.Instance) bool {
				return aws.ToString(other.InstanceId) == id && !machine.Terminated(other)
			}) {
				return rg.Observed{}, nil
			}
		}
		return rg.Observed{ID: id}, nil
	}
	n.Delete = func(ctx context.Context, _ rg.Observed) error {
		_, err := c.writer.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
		if awsx.IsNotFound(err) {
			return nil
		}
		return err
	}
	return n
}
