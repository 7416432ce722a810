package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// DescribeAPI is the part of EC2 that Describe calls.
type DescribeAPI interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
}

// An Instance is an instance that is starting or running.
type Instance struct {
	ID string
	// PrivateName is its host name in the VPC, which is the name of its node.
	PrivateName string
	// PrivateAddresses are its addresses in the VPC, and PublicAddresses those in the Internet.
	PrivateAddresses, PublicAddresses []string
	Launched                          time.Time
}

// filterValues is how many values EC2 takes in one filter.
const filterValues = 200

// callTimeout bounds the describe call, its retries included: nodes of other machines wait for the same reconcile.
const callTimeout = 15 * time.Second

// Describe returns the instances with these IDs that are starting or running and that belong to the cluster, by their IDs.
func Describe(ctx context.Context, api DescribeAPI, infraID string, ids []string) (map[string]Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found := map[string]Instance{}
	for chunk := range slices.Chunk(ids, filterValues) {
		// A filter leaves out an instance that does not exist. As a parameter, its ID is an error for all others.
		pages := ec2.NewDescribeInstancesPaginator(api, &ec2.DescribeInstancesInput{Filters: []types.Filter{
			{Name: aws.String("instance-id"), Values: chunk},
			{Name: aws.String("instance-state-name"), Values: []string{string(types.InstanceStateNamePending), string(types.InstanceStateNameRunning)}},
			{Name: aws.String("tag:" + names.ClusterTag(infraID)), Values: []string{names.ClusterTagValue}},
		}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describing instances: %w", err)
			}
			for _, reservation := range page.Reservations {
				for i := range reservation.Instances {
					one := read(&reservation.Instances[i])
					found[one.ID] = one
				}
			}
		}
	}
	return found, nil
}

func read(i *types.Instance) Instance {
	out := Instance{ID: aws.ToString(i.InstanceId), PrivateName: aws.ToString(i.PrivateDnsName), Launched: aws.ToTime(i.LaunchTime)}
	for _, n := range i.NetworkInterfaces {
		for _, a := range n.PrivateIpAddresses {
			out.PrivateAddresses = append(out.PrivateAddresses, aws.ToString(a.PrivateIpAddress))
		}
		for _, a := range n.Ipv6Addresses {
			out.PrivateAddresses = append(out.PrivateAddresses, aws.ToString(a.Ipv6Address))
		}
	}
	if len(out.PrivateAddresses) == 0 && i.PrivateIpAddress != nil {
		out.PrivateAddresses = []string{*i.PrivateIpAddress}
	}
	for _, address := range []*string{i.PublicIpAddress, i.PublicDnsName} {
		if aws.ToString(address) != "" {
			out.PublicAddresses = append(out.PublicAddresses, *address)
		}
	}
	return out
}
