package infra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// IDs of nodes that other packages refer to.
const (
	VPC         = "vpc"
	PrivateZone = "private-zone"
	LocalZone   = "local-zone"
	PublicZone  = "public-zone"
	WorkerGroup = "worker-group"
)

func publicSubnet(zone string) string  { return "public-subnet/" + zone }
func privateSubnet(zone string) string { return "private-subnet/" + zone }

// builder makes the nodes of a spec.
type builder struct {
	*Cloud
	Spec
}

// Nodes returns the nodes of the spec.
func (c *Cloud) Nodes(s Spec) []*rg.Node {
	b := builder{Cloud: c, Spec: s}
	nodes := []*rg.Node{
		b.vpc(), b.vpcAttribute("dns-support", types.VpcAttributeNameEnableDnsSupport, VPC),
		b.vpcAttribute("dns-hostnames", types.VpcAttributeNameEnableDnsHostnames, VPC, "dns-support"),
		b.dhcpOptions(), b.dhcpAssociation(), b.internetGateway(), b.attachment(),
	}
	for i, zone := range s.Zones {
		nodes = append(nodes, b.subnetNode(i, zone, false))
		if s.PublicOnly {
			continue
		}
		nodes = append(nodes, b.subnetNode(i, zone, true))
		table := "private-table/" + zone
		nodes = append(nodes, b.table(table, s.InfraID+"-private-"+zone), b.association(table, "private-association/"+zone, privateSubnet(zone)))
		if s.HasProxy() {
			continue
		}
		if i == 0 || !s.SingleNATGateway {
			nodes = append(nodes, b.address(zone), b.natGateway(zone))
		}
		nat := natGateway(zone)
		if s.SingleNATGateway {
			nat = natGateway(s.Zones[0])
		}
		nodes = append(nodes, b.route(table, "private-route/"+zone, nat, false))
	}
	nodes = append(nodes, b.table(publicTable, s.InfraID+"-public"), b.mainTable(), b.route(publicTable, "public-route", "attachment", true))
	for _, zone := range s.Zones {
		nodes = append(nodes, b.association(publicTable, "public-association/"+zone, publicSubnet(zone)))
	}
	if s.HasProxy() {
		nodes = append(nodes, b.proxyNodes()...)
	}
	if s.VPCOwner != "" {
		nodes = append(nodes, b.sharing()...)
	}
	if s.WorkerGroup {
		nodes = append(nodes, b.workerNodes()...)
	}
	nodes = append(nodes, b.s3Endpoint())
	if s.BaseDomain != "" {
		nodes = append(nodes, b.publicZone())
		nodes = append(nodes, b.privateZoneNodes(PrivateZone, s.privateZone())...)
	}
	return append(nodes, b.privateZoneNodes(LocalZone, localZone(s.Name))...)
}

// zone returns the zone that matches, with the name that it has in the account of the cluster. In the account of a shared VPC, the same
// name may belong to another zone; only ids are the same in all accounts.
func (c *Cloud) zone(ctx context.Context, match func(types.AvailabilityZone) bool) (types.AvailabilityZone, error) {
	zones, err := c.ofCluster().zones.Get(ctx, false)
	if err != nil {
		return types.AvailabilityZone{}, err
	}
	i := slices.IndexFunc(zones, match)
	if i < 0 {
		return types.AvailabilityZone{}, nil
	}
	return zones[i], nil
}

func (b builder) vpc() *rg.Node {
	name := b.InfraID + "-vpc"
	tags := b.owner.All(name, nil)
	observed := func(v types.Vpc) rg.Observed {
		o := rg.Observed{ID: aws.ToString(v.VpcId), Attributes: awsgraph.WithTags(rg.Attributes{"cidr": aws.ToString(v.CidrBlock)}, ec2util.Tags(v.Tags))}
		if v.State == types.VpcStatePending {
			o.Pending = "state pending"
		}
		return o
	}
	return &rg.Node{
		ID: VPC, Kind: "VPC", ReadsAlone: true, Name: name,
		Desired: func(rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"cidr": b.VPCCIDR.String()}, tags)
		},
		Immutable: []string{"cidr"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			v, ok, err := b.findVPC(ctx, l.ID, name, l.Fresh)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return observed(v), nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.CreateVpc(ctx, &ec2.CreateVpcInput{
				CidrBlock: aws.String(b.VPCCIDR.String()), TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeVpc, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			// It can be used while it is pending.
			return rg.Observed{ID: aws.ToString(created.Vpc.VpcId)}, nil
		},
		Update: b.updateTags,
	}
}

func (c *Cloud) findVPC(ctx context.Context, recorded, name string, fresh bool) (types.Vpc, bool, error) {
	vpcs, err := c.vpcs.Get(ctx, fresh)
	if err != nil {
		return types.Vpc{}, false, err
	}
	v, ok := awsgraph.Pick(vpcs, recorded, func(v types.Vpc) string { return aws.ToString(v.VpcId) }, func(v types.Vpc) bool { return named(v.Tags, name) })
	return v, ok, nil
}

func (b builder) vpcAttribute(id string, attribute types.VpcAttributeName, dependsOn ...string) *rg.Node {
	set := func(ctx context.Context, vpc string) error {
		in := &ec2.ModifyVpcAttributeInput{VpcId: aws.String(vpc)}
		if attribute == types.VpcAttributeNameEnableDnsSupport {
			in.EnableDnsSupport = &types.AttributeBooleanValue{Value: aws.Bool(true)}
		} else {
			in.EnableDnsHostnames = &types.AttributeBooleanValue{Value: aws.Bool(true)}
		}
		_, err := b.ec2Writer.ModifyVpcAttribute(ctx, in)
		return err
	}
	return &rg.Node{
		ID: id, Kind: "VPC attribute", Name: string(attribute), DependsOn: dependsOn, Parent: VPC, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return rg.Attributes{"value": "true"} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			vpc := l.IDs(VPC)
			if vpc == "" {
				return rg.Observed{}, nil
			}
			answer, err := b.ec2.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: aws.String(vpc), Attribute: attribute})
			if err != nil {
				return rg.Observed{}, err
			}
			value := answer.EnableDnsSupport
			if attribute == types.VpcAttributeNameEnableDnsHostnames {
				value = answer.EnableDnsHostnames
			}
			return rg.Observed{ID: vpc, Attributes: rg.Attributes{"value": fmt.Sprint(value != nil && aws.ToBool(value.Value))}}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: c.IDs(VPC)}, set(ctx, c.IDs(VPC))
		},
		Update: func(ctx context.Context, u rg.Update) error { return set(ctx, u.Observed.ID) },
	}
}

func (b builder) dhcpOptions() *rg.Node {
	tags := b.owner.All("", nil)
	return &rg.Node{
		ID: "dhcp-options", Kind: "DHCP options", ReadsAlone: true, Parent: VPC,
		Desired: func(rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"domain-name": b.dhcpDomain(), "domain-name-servers": "AmazonProvidedDNS"}, tags)
		},
		Immutable: []string{"domain-name", "domain-name-servers"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := b.dhcp.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			d, ok := awsgraph.Pick(all, l.ID, func(d types.DhcpOptions) string { return aws.ToString(d.DhcpOptionsId) }, func(types.DhcpOptions) bool { return true })
			if !ok {
				return rg.Observed{}, nil
			}
			attributes := rg.Attributes{}
			for _, c := range d.DhcpConfigurations {
				var values []string
				for _, v := range c.Values {
					values = append(values, aws.ToString(v.Value))
				}
				attributes[aws.ToString(c.Key)] = strings.Join(values, ",")
			}
			return rg.Observed{ID: aws.ToString(d.DhcpOptionsId), Attributes: awsgraph.WithTags(attributes, ec2util.Tags(d.Tags))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.CreateDhcpOptions(ctx, &ec2.CreateDhcpOptionsInput{
				DhcpConfigurations: []types.NewDhcpConfiguration{
					{Key: aws.String("domain-name"), Values: []string{b.dhcpDomain()}},
					{Key: aws.String("domain-name-servers"), Values: []string{"AmazonProvidedDNS"}},
				},
				TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeDhcpOptions, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(created.DhcpOptions.DhcpOptionsId)}, nil
		},
		Update: b.updateTags,
	}
}

func (b builder) dhcpAssociation() *rg.Node {
	associate := func(ctx context.Context, ids rg.IDs) error {
		_, err := b.ec2Writer.AssociateDhcpOptions(ctx, &ec2.AssociateDhcpOptionsInput{VpcId: aws.String(ids(VPC)), DhcpOptionsId: aws.String(ids("dhcp-options"))})
		return err
	}
	return &rg.Node{
		ID: "dhcp-association", Kind: "Association of the DHCP options", DependsOn: []string{VPC, "dhcp-options"}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes { return rg.Attributes{"options": ids("dhcp-options")} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			v, ok, err := b.findVPC(ctx, l.IDs(VPC), b.InfraID+"-vpc", l.Fresh)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(v.VpcId), Attributes: rg.Attributes{"options": aws.ToString(v.DhcpOptionsId)}}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: c.IDs(VPC)}, associate(ctx, c.IDs)
		},
		Update: func(ctx context.Context, u rg.Update) error { return associate(ctx, u.IDs) },
	}
}

func (b builder) internetGateway() *rg.Node {
	name := b.InfraID + "-igw"
	tags := b.owner.All(name, nil)
	return &rg.Node{
		ID: "internet-gateway", Kind: "Internet gateway", ReadsAlone: true, Name: name, Parent: VPC,
		Desired: func(rg.IDs) rg.Attributes { return awsgraph.WithTags(nil, tags) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			g, ok, err := b.findGateway(ctx, l.ID, l.Fresh)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(g.InternetGatewayId), Attributes: awsgraph.WithTags(nil, ec2util.Tags(g.Tags))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeInternetGateway, tags)})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(created.InternetGateway.InternetGatewayId)}, nil
		},
		Update: b.updateTags,
	}
}

func (b builder) findGateway(ctx context.Context, recorded string, fresh bool) (types.InternetGateway, bool, error) {
	all, err := b.gateways.Get(ctx, fresh)
	if err != nil {
		return types.InternetGateway{}, false, err
	}
	g, ok := awsgraph.Pick(all, recorded, func(g types.InternetGateway) string { return aws.ToString(g.InternetGatewayId) },
		func(g types.InternetGateway) bool { return named(g.Tags, b.InfraID+"-igw") })
	return g, ok, nil
}

func (b builder) attachment() *rg.Node {
	return &rg.Node{
		ID: "attachment", Kind: "Attachment of the internet gateway", DependsOn: []string{VPC, "internet-gateway"}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes { return rg.Attributes{"vpc": ids(VPC)} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			g, ok, err := b.findGateway(ctx, l.IDs("internet-gateway"), l.Fresh)
			if err != nil || !ok || len(g.Attachments) == 0 {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(g.InternetGatewayId), Attributes: rg.Attributes{"vpc": aws.ToString(g.Attachments[0].VpcId)}}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			id := c.IDs("internet-gateway")
			_, err := b.ec2Writer.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: aws.String(id), VpcId: aws.String(c.IDs(VPC))})
			return rg.Observed{ID: id}, err
		},
	}
}

// subnetTags returns the node, the name and the tags of a subnet. Load balancers and Karpenter find it by its tags.
func (b builder) subnetTags(zone string, private bool) (id, name string, _ awsx.Tags) {
	id, name, role := publicSubnet(zone), b.InfraID+"-public-"+zone, awsx.Tags{"kubernetes.io/role/elb": "1"}
	if private {
		id, name = privateSubnet(zone), b.InfraID+"-private-"+zone
		role = awsx.Tags{"kubernetes.io/role/internal-elb": "1", "karpenter.sh/discovery": b.InfraID}
	}
	return id, name, b.owner.All(name, role)
}

func (b builder) subnetNode(i int, zone string, private bool) *rg.Node {
	id, name, tags := b.subnetTags(zone, private)
	cidr := b.subnet(i, private)
	return &rg.Node{
		// A second subnet with the same addresses is refused.
		ID: id, Kind: "Subnet", ReadsAlone: true, Name: name, DependsOn: []string{VPC}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"cidr": cidr, "zone": zone, "vpc": ids(VPC)}, tags)
		},
		Immutable: []string{"cidr", "zone", "vpc"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := b.subnets.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			s, ok := awsgraph.Pick(all, l.ID, func(s types.Subnet) string { return aws.ToString(s.SubnetId) }, func(s types.Subnet) bool { return named(s.Tags, name) })
			if !ok {
				return rg.Observed{}, nil
			}
			in, err := b.zone(ctx, func(z types.AvailabilityZone) bool {
				return aws.ToString(z.ZoneId) == aws.ToString(s.AvailabilityZoneId)
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(s.SubnetId), Attributes: awsgraph.WithTags(rg.Attributes{
				"cidr": aws.ToString(s.CidrBlock), "zone": aws.ToString(in.ZoneName), "vpc": aws.ToString(s.VpcId),
			}, ec2util.Tags(s.Tags))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			in, err := b.zone(ctx, func(z types.AvailabilityZone) bool { return aws.ToString(z.ZoneName) == zone })
			if err != nil {
				return rg.Observed{}, err
			}
			if in.ZoneId == nil {
				return rg.Observed{}, fmt.Errorf("zone %s does not exist in region %s", zone, b.Region)
			}
			created, err := b.ec2Writer.CreateSubnet(ctx, &ec2.CreateSubnetInput{
				VpcId: aws.String(c.IDs(VPC)), CidrBlock: aws.String(cidr), AvailabilityZoneId: in.ZoneId,
				TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeSubnet, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(created.Subnet.SubnetId)}, nil
		},
		Update: b.updateTags,
	}
}
