package infra

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

func (c *Cloud) discoverInstances(ctx context.Context) (all []found, _ []Remaining, _ error) {
	filters := append(c.owned(), filter("instance-state-name", "pending", "running", "stopping", "stopped", "shutting-down"))
	for pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{Filters: filters}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing instances: %w", err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				id := aws.ToString(i.InstanceId)
				all = append(all, found{kind: "instance", id: id, name: ec2util.Tags(i.Tags)[awsx.NameTag],
					delete: func(ctx context.Context) error {
						_, err := c.ec2Writer.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
						return err
					},
					gone: func(ctx context.Context) (bool, error) {
						now, err := c.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
						if awsx.IsNotFound(err) {
							return true, nil
						}
						if err != nil {
							return false, err
						}
						for _, r := range now.Reservations {
							for _, i := range r.Instances {
								if i.State != nil && i.State.Name != types.InstanceStateNameTerminated {
									return false, nil
								}
							}
						}
						return true, nil
					},
				})
			}
		}
	}
	return all, nil, nil
}

func (c *Cloud) discoverGroups(ctx context.Context) (all []found, _ []Remaining, _ error) {
	for pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{Filters: c.owned()}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing security groups: %w", err)
		}
		for _, g := range page.SecurityGroups {
			if aws.ToString(g.GroupName) == "default" {
				continue // it disappears with the VPC
			}
			all = append(all, found{kind: "security-group", id: aws.ToString(g.GroupId), name: aws.ToString(g.GroupName), delete: func(ctx context.Context) error {
				// Groups that name each other in their rules block each other.
				if len(g.IpPermissions) > 0 {
					_, err := c.ec2Writer.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: g.IpPermissions})
					if err != nil && !awsx.IsNotFound(err) {
						return err
					}
				}
				_, err := c.ec2Writer.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
				return err
			}})
		}
	}
	return all, nil, nil
}

// discoverVolumes lists volumes and snapshots. They may have the only copy of data, and do not block a deletion.
func (c *Cloud) discoverVolumes(ctx context.Context) (_ []found, rest []Remaining, _ error) {
	const reason = "left behind by the hosted cluster. It may have the only copy of data, so it is not deleted, and costs money until you delete it"
	for pages := ec2.NewDescribeVolumesPaginator(c.ec2, &ec2.DescribeVolumesInput{Filters: c.owned()}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing volumes: %w", err)
		}
		for _, v := range page.Volumes {
			if v.State == types.VolumeStateAvailable {
				rest = append(rest, Remaining{"Volume", aws.ToString(v.VolumeId), reason})
			}
		}
	}
	for pages := ec2.NewDescribeSnapshotsPaginator(c.ec2, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: c.owned()}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing snapshots: %w", err)
		}
		for _, s := range page.Snapshots {
			rest = append(rest, Remaining{"Snapshot", aws.ToString(s.SnapshotId), reason})
		}
	}
	return nil, rest, nil
}

// discoverInterfaces lists network interfaces that belong to no resource that is deleted. They block the deletion of their subnet.
func (c *Cloud) discoverInterfaces(ctx context.Context, vpcs []string) (_ []found, rest []Remaining, _ error) {
	for pages := ec2.NewDescribeNetworkInterfacesPaginator(c.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("vpc-id", vpcs...)}}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing network interfaces: %w", err)
		}
		for _, i := range page.NetworkInterfaces {
			// AWS manages the interfaces of NAT gateways, endpoints and load balancers, and deletes them after these.
			if i.InterfaceType != types.NetworkInterfaceTypeInterface || aws.ToBool(i.RequesterManaged) || i.Attachment != nil && i.Attachment.InstanceId != nil {
				continue
			}
			if c.owner.Owns(ec2util.Tags(i.TagSet)) || strings.HasPrefix(aws.ToString(i.Description), "ELB ") {
				continue
			}
			rest = append(rest, Remaining{"Network interface", aws.ToString(i.NetworkInterfaceId),
				fmt.Sprintf("it is in subnet %s without the tag of the cluster (%q), and blocks its deletion", aws.ToString(i.SubnetId), aws.ToString(i.Description))})
		}
	}
	return nil, rest, nil
}
