package leftovers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// filterValues is how many values a filter of EC2 may have.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
const filterValues = 200

// living returns the ids of existing resources of one kind. EC2 lists instances and NAT gateways with their
// tags for about an hour after their end, and endpoints for some minutes.
func living(ctx context.Context, api *ec2.Client, kind types.ResourceType, ids []string) ([]string, error) {
	read := map[types.ResourceType]func(context.Context, *ec2.Client, []string) ([]string, error){
		types.ResourceTypeInstance: livingInstances, types.ResourceTypeNatgateway: livingNATGateways, types.ResourceTypeVpcEndpoint: livingEndpoints,
	}[kind]
	if read == nil {
		return ids, nil
	}
	var all []string
	for some := range slices.Chunk(ids, filterValues) {
		found, err := read(ctx, api, some)
		if err != nil {
			return nil, fmt.Errorf("reading resources of type %s: %w", kind, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func livingInstances(ctx context.Context, api *ec2.Client, ids []string) (all []string, _ error) {
	pages := ec2.NewDescribeInstancesPaginator(api, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("instance-id"), Values: ids},
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "shutting-down", "stopping", "stopped"}},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				all = append(all, aws.ToString(i.InstanceId))
			}
		}
	}
	return all, nil
}

func livingNATGateways(ctx context.Context, api *ec2.Client, ids []string) (all []string, _ error) {
	pages := ec2.NewDescribeNatGatewaysPaginator(api, &ec2.DescribeNatGatewaysInput{Filter: []types.Filter{{Name: aws.String("nat-gateway-id"), Values: ids}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range page.NatGateways {
			if n.State != types.NatGatewayStateDeleted {
				all = append(all, aws.ToString(n.NatGatewayId))
			}
		}
	}
	return all, nil
}

func livingEndpoints(ctx context.Context, api *ec2.Client, ids []string) (all []string, _ error) {
	pages := ec2.NewDescribeVpcEndpointsPaginator(api, &ec2.DescribeVpcEndpointsInput{Filters: []types.Filter{{Name: aws.String("vpc-endpoint-id"), Values: ids}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.VpcEndpoints {
			if strings.ToLower(string(e.State)) != "deleted" {
				all = append(all, aws.ToString(e.VpcEndpointId))
			}
		}
	}
	return all, nil
}
