package infra

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/ram"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/machine"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Cloud is an account and region, with the lists of the resources of one cluster.
type Cloud struct {
	owner  awsgraph.Owner
	region string
	// cluster is the account of the cluster, if this one has its VPC and shares it. Nil: this is the account of both.
	cluster *Cloud
	// caller returns the account of the session.
	caller func(context.Context) (awsgraph.Caller, error)

	ec2 *ec2.Client
	dns *route53.Client
	ram *ram.Client
	// Writing clients make one attempt. The engine decides about the next one: the SDK would repeat a creation after its answer was
	// lost, and create a second resource.
	ec2Writer *ec2.Client
	dnsWriter *route53.Client
	ramWriter *ram.Client
	elbWriter *elbv2.Client
	elb       *elbv2.Client

	machines *machine.Client
	proxy    proxyState
	clock    clock.PassiveClock

	zones     awsgraph.Listing[types.AvailabilityZone]
	vpcs      awsgraph.Listing[types.Vpc]
	dhcp      awsgraph.Listing[types.DhcpOptions]
	gateways  awsgraph.Listing[types.InternetGateway]
	subnets   awsgraph.Listing[types.Subnet]
	addresses awsgraph.Listing[types.Address]
	nats      awsgraph.Listing[types.NatGateway]
	tables    awsgraph.Listing[types.RouteTable]
	endpoints awsgraph.Listing[endpoint.Endpoint]
}

// NewCloud returns the account of cfg for the cluster of the owner.
func NewCloud(cfg aws.Config, owner awsgraph.Owner) *Cloud {
	writing := cfg.Copy()
	writing.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	c := &Cloud{
		owner: owner, region: cfg.Region,
		ec2: ec2.NewFromConfig(cfg), dns: route53.NewFromConfig(cfg), elb: elbv2.NewFromConfig(cfg), ram: ram.NewFromConfig(cfg),
		ec2Writer: ec2.NewFromConfig(writing), dnsWriter: route53.NewFromConfig(writing), elbWriter: elbv2.NewFromConfig(writing),
		ramWriter: ram.NewFromConfig(writing),
		machines:  machine.New(cfg, owner), clock: clock.RealClock{},
		caller: func(ctx context.Context) (awsgraph.Caller, error) { return awsgraph.CallerOf(ctx, cfg) },
	}
	owned := []types.Filter{filter("tag:"+owner.Tag(), "owned")}
	c.zones.Load = func(ctx context.Context) ([]types.AvailabilityZone, error) {
		answer, err := c.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
		if err != nil {
			return nil, fmt.Errorf("listing the zones of %s: %w", c.region, err)
		}
		return answer.AvailabilityZones, nil
	}
	c.vpcs.Load = func(ctx context.Context) (all []types.Vpc, err error) {
		for pages := ec2.NewDescribeVpcsPaginator(c.ec2, &ec2.DescribeVpcsInput{Filters: owned}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing VPCs: %w", err)
			}
			all = append(all, page.Vpcs...)
		}
		return all, nil
	}
	c.dhcp.Load = func(ctx context.Context) (all []types.DhcpOptions, err error) {
		for pages := ec2.NewDescribeDhcpOptionsPaginator(c.ec2, &ec2.DescribeDhcpOptionsInput{Filters: owned}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing DHCP options: %w", err)
			}
			all = append(all, page.DhcpOptions...)
		}
		return all, nil
	}
	c.gateways.Load = func(ctx context.Context) (all []types.InternetGateway, err error) {
		for pages := ec2.NewDescribeInternetGatewaysPaginator(c.ec2, &ec2.DescribeInternetGatewaysInput{Filters: owned}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing internet gateways: %w", err)
			}
			all = append(all, page.InternetGateways...)
		}
		return all, nil
	}
	c.subnets.Load = func(ctx context.Context) (all []types.Subnet, err error) {
		for pages := ec2.NewDescribeSubnetsPaginator(c.ec2, &ec2.DescribeSubnetsInput{Filters: owned}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing subnets: %w", err)
			}
			all = append(all, page.Subnets...)
		}
		return all, nil
	}
	c.addresses.Load = func(ctx context.Context) ([]types.Address, error) {
		answer, err := c.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: owned})
		if err != nil {
			return nil, fmt.Errorf("listing elastic IP addresses: %w", err)
		}
		return answer.Addresses, nil
	}
	c.nats.Load = func(ctx context.Context) (all []types.NatGateway, err error) {
		for pages := ec2.NewDescribeNatGatewaysPaginator(c.ec2, &ec2.DescribeNatGatewaysInput{Filter: owned}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing NAT gateways: %w", err)
			}
			all = append(all, page.NatGateways...)
		}
		return all, nil
	}
	c.tables.Load = func(ctx context.Context) (all []types.RouteTable, err error) {
		return c.routeTables(ctx, owned)
	}
	c.endpoints.Load = func(ctx context.Context) (all []endpoint.Endpoint, err error) {
		for pages := ec2.NewDescribeVpcEndpointsPaginator(c.ec2, &ec2.DescribeVpcEndpointsInput{Filters: owned}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing VPC endpoints: %w", err)
			}
			for _, e := range page.VpcEndpoints {
				all = append(all, endpoint.Read(e))
			}
		}
		return all, nil
	}
	return c
}

// SharedWith makes the account of cfg the account of the cluster. It contains the public zone, and uses the subnets of this account.
func (c *Cloud) SharedWith(cfg aws.Config) *Cloud {
	c.cluster = NewCloud(cfg, c.owner)
	return c
}

// ofCluster is the account of the cluster.
func (c *Cloud) ofCluster() *Cloud {
	if c.cluster != nil {
		return c.cluster
	}
	return c
}

// WithClock takes the time of certificates from another clock.
func (c *Cloud) WithClock(now clock.PassiveClock) *Cloud {
	c.clock = now
	return c
}

func (c *Cloud) routeTables(ctx context.Context, filters []types.Filter) (all []types.RouteTable, err error) {
	for pages := ec2.NewDescribeRouteTablesPaginator(c.ec2, &ec2.DescribeRouteTablesInput{Filters: filters}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing route tables: %w", err)
		}
		all = append(all, page.RouteTables...)
	}
	return all, nil
}

// Prefetch returns the calls that fill the lists which every plan needs.
func (c *Cloud) Prefetch() []func(context.Context) error {
	return []func(context.Context) error{
		c.ofCluster().zones.Prefetch, c.vpcs.Prefetch, c.dhcp.Prefetch, c.gateways.Prefetch, c.subnets.Prefetch, c.addresses.Prefetch,
		c.nats.Prefetch, c.tables.Prefetch, c.endpoints.Prefetch,
	}
}

// ResolveZones returns the names of zones that are given by name or id: of all accounts, the cluster's account gives them. Without any, it
// is the first zone of the region.
func (c *Cloud) ResolveZones(ctx context.Context, given []string) ([]string, error) {
	described, err := c.ofCluster().zones.Get(ctx, false)
	if err != nil {
		return nil, err
	}
	all := zone.New(described)
	if len(given) > 0 {
		found, err := all.Resolve(c.region, given)
		return found.Names(), err
	}
	usable := all.Usable()
	if len(usable) == 0 {
		return nil, fmt.Errorf("region %s has no zones", c.region)
	}
	return usable[:1].Names(), nil
}

// VPCID returns the id of the VPC of the cluster, or "".
func (c *Cloud) VPCID(ctx context.Context) (string, error) {
	v, _, err := c.findVPC(ctx, "", c.owner.InfraID+"-vpc", false)
	return aws.ToString(v.VpcId), err
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

func zoneTags(list []route53types.Tag) awsx.Tags {
	tags := awsx.Tags{}
	for _, t := range list {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

// updateTags repairs the tags among the changes of an EC2 resource.
func (c *Cloud) updateTags(ctx context.Context, u resourcegraph.Update) error {
	tags := awsgraph.ChangedTags(u.Changes)
	if len(tags) == 0 {
		return nil
	}
	_, err := c.ec2Writer.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{u.Observed.ID}, Tags: ec2util.WireTags(tags)})
	return err
}

// named matches a resource by its name tag. All lists have only resources with the ownership tag.
func named(tags []types.Tag, name string) bool { return ec2util.Tags(tags)[awsx.NameTag] == name }
