package bastion

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// Place is where the instance runs.
type Place struct {
	Subnet, VPC string
	// PublicAddress: the way to the internet is an internet gateway, which needs one. No security group lets anything in.
	PublicAddress bool
}

// privateTag marks the private subnets of a cluster.
const privateTag = "kubernetes.io/role/internal-elb"

// Find returns the place of the spec. It fails if an instance there could not reach Session Manager.
func (c *Cloud) Find(ctx context.Context, s Spec) (Place, error) {
	subnet, err := c.findSubnet(ctx, s)
	if err != nil {
		return Place{}, err
	}
	p := Place{Subnet: aws.ToString(subnet.SubnetId), VPC: aws.ToString(subnet.VpcId)}
	var tables []types.RouteTable
	for pages := ec2.NewDescribeRouteTablesPaginator(c.ec2, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("vpc-id", p.VPC)}}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Place{}, fmt.Errorf("listing the route tables of %s: %w", p.VPC, err)
		}
		tables = append(tables, page.RouteTables...)
	}
	table, found := tableOf(tables, p.Subnet)
	if !found {
		return p, nil // the VPC belongs to another account, which does not show its tables
	}
	target := defaultRoute(table)
	p.PublicAddress = strings.HasPrefix(target, "igw-")
	if target != "" {
		return p, nil
	}
	missing, err := c.missingEndpoints(ctx, s.Region, p.VPC)
	if err != nil {
		return Place{}, err
	}
	if len(missing) > 0 {
		return Place{}, fmt.Errorf("an instance in %s does not reach Session Manager: its route table has no route to the internet, and %s has no interface endpoint of %s; "+
			"create the endpoints, or pass --subnet-id with another subnet", p.Subnet, p.VPC, strings.Join(missing, " and "))
	}
	return p, nil
}

func (c *Cloud) findSubnet(ctx context.Context, s Spec) (types.Subnet, error) {
	in := &ec2.DescribeSubnetsInput{Filters: c.owned()}
	if s.SubnetID != "" {
		in = &ec2.DescribeSubnetsInput{SubnetIds: []string{s.SubnetID}}
	}
	var all []types.Subnet
	for pages := ec2.NewDescribeSubnetsPaginator(c.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return types.Subnet{}, fmt.Errorf("looking for a subnet: %w", err)
		}
		all = append(all, page.Subnets...)
	}
	if len(all) == 0 {
		return types.Subnet{}, fmt.Errorf("no subnet in %s has the tag %s: check --region and --infra-id, or pass --subnet-id", s.Region, c.owner.Want())
	}
	// Each run must choose the same.
	return slices.MinFunc(all, func(a, b types.Subnet) int {
		tagsA, tagsB := ec2util.Tags(a.Tags), ec2util.Tags(b.Tags)
		return cmp.Or(cmp.Compare(tagsB[privateTag], tagsA[privateTag]), cmp.Compare(tagsA[awsx.NameTag], tagsB[awsx.NameTag]),
			cmp.Compare(aws.ToString(a.SubnetId), aws.ToString(b.SubnetId)))
	}), nil
}

// tableOf returns the route table of a subnet: its own one, else the main one of the VPC.
func tableOf(tables []types.RouteTable, subnet string) (table types.RouteTable, found bool) {
	for _, t := range tables {
		for _, a := range t.Associations {
			if aws.ToString(a.SubnetId) == subnet {
				return t, true
			}
			if aws.ToBool(a.Main) {
				table, found = t, true
			}
		}
	}
	return table, found
}

// defaultRoute returns the target of the route to the internet, or "".
func defaultRoute(t types.RouteTable) string {
	for _, r := range t.Routes {
		if aws.ToString(r.DestinationCidrBlock) == "0.0.0.0/0" && r.State != types.RouteStateBlackhole {
			for _, target := range []*string{r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.NetworkInterfaceId, r.VpcPeeringConnectionId, r.LocalGatewayId, r.CoreNetworkArn} {
				if aws.ToString(target) != "" {
					return aws.ToString(target)
				}
			}
		}
	}
	return ""
}

// missingEndpoints returns the services that the agent calls and that the VPC has no endpoint of.
func (c *Cloud) missingEndpoints(ctx context.Context, region, vpc string) ([]string, error) {
	var existing []string
	for pages := ec2.NewDescribeVpcEndpointsPaginator(c.ec2, &ec2.DescribeVpcEndpointsInput{Filters: []types.Filter{filter("vpc-id", vpc)}}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the endpoints of %s: %w", vpc, err)
		}
		for _, e := range page.VpcEndpoints {
			existing = append(existing, aws.ToString(e.ServiceName))
		}
	}
	var missing []string
	for _, service := range []string{"ssm", "ssmmessages"} {
		// The name starts with cn.com.amazonaws in China.
		suffix := "com.amazonaws." + region + "." + service
		if !slices.ContainsFunc(existing, func(name string) bool { return strings.HasSuffix(name, suffix) }) {
			missing = append(missing, suffix)
		}
	}
	return missing, nil
}
