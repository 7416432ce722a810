package accountcheck

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// HasInstance is true if the instance exists in the account. Without an id it makes no call.
func HasInstance(ctx context.Context, cfg aws.Config, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	// An instance of another account is an empty list for a filter. As a parameter it is an error.
	in := &ec2.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("instance-id"), Values: []string{id}}}}
	for pages := ec2.NewDescribeInstancesPaginator(awsx.EC2(cfg), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, fmt.Errorf("reading instance %s: %w", id, err)
		}
		if len(page.Reservations) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// ZonesOfSubnets returns the id of the zone of each subnet that exists.
func ZonesOfSubnets(ctx context.Context, cfg aws.Config, subnets []string) (map[string]string, error) {
	if len(subnets) == 0 {
		return nil, nil
	}
	ids := map[string]string{}
	filters := []types.Filter{{Name: aws.String("subnet-id"), Values: subnets}}
	for pages := ec2.NewDescribeSubnetsPaginator(awsx.EC2(cfg), &ec2.DescribeSubnetsInput{Filters: filters}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the subnets of the node pools: %w", err)
		}
		for _, s := range page.Subnets {
			ids[aws.ToString(s.SubnetId)] = aws.ToString(s.AvailabilityZoneId)
		}
	}
	return ids, nil
}
