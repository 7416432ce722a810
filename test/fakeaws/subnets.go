package fakeaws

import (
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var subnetKind = declare[*subnet]("subnet", "subnet", "InvalidSubnetID.NotFound")

func init() {
	register(EC2,
		read("DescribeSubnets", (*request).describeSubnets, "SubnetIds", "Filters", "MaxResults", "NextToken"),
		write("DeleteSubnet", (*request).deleteSubnet, "SubnetId"),
	)
	subnetKind.label = func(s *subnet) string { return "subnet(" + s.cidr.String() + " " + s.zone.id + ")" }
	subnetKind.line = func(_ *picture, s *subnet) string { return s.id + " of " + s.vpc.id + tagText(s.tags) }
}

// Subnet is a seed for AddSubnet.
type Subnet struct {
	ID   string // made up if empty
	VPC  string
	Zone string // a zone name of this account, e.g. us-east-1a
	CIDR string // the next free /24 of the VPC if empty
	Tags map[string]string
}

type subnet struct {
	meta
	vpc   *vpc
	owner string
	zone  zone
	cidr  netip.Prefix
	hosts int // addresses given out
}

var subnetAttributes = attributes[*subnet]{
	"subnet-id":            one(func(s *subnet) string { return s.id }),
	"vpc-id":               one(func(s *subnet) string { return s.vpc.id }),
	"availability-zone":    one(func(s *subnet) string { return s.zone.name }),
	"availability-zone-id": one(func(s *subnet) string { return s.zone.id }),
	"cidr-block":           one(func(s *subnet) string { return s.cidr.String() }),
	"owner-id":             one(func(s *subnet) string { return s.owner }),
	"state":                one(func(*subnet) string { return "available" }),
}

// AddSubnet makes a subnet and returns its id.
func (a *Account) AddSubnet(region string, seed Subnet) string {
	c := a.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	r := a.region(region)
	v := r.vpcs.items[seed.VPC]
	z, known := a.zone(region, seed.Zone)
	if v == nil || !known {
		panic(fmt.Sprintf("fakeaws: AddSubnet: no VPC %q or no zone %q in %s", seed.VPC, seed.Zone, region))
	}
	s := &subnet{meta: c.newMeta("subnet", seed.ID, seed.Tags), vpc: v, owner: a.id, zone: z}
	if seed.CIDR == "" {
		seed.CIDR = r.nextCIDR(v)
	}
	s.cidr = netip.MustParsePrefix(seed.CIDR)
	r.subnets.add(s)
	return s.id
}

// nextCIDR returns a /24 after the ranges of the VPC's subnets.
func (r *region) nextCIDR(v *vpc) string {
	n := 0
	for _, s := range r.subnets.order {
		if s.vpc == v {
			n++
		}
	}
	base := v.cidr.Addr().As4()
	return fmt.Sprintf("%d.%d.%d.0/24", base[0], int(base[1])+n/256, n%256)
}

func (q *request) describeSubnets(in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	found, next, err := list(q, q.region.subnets, in.SubnetIds, in.Filters, subnetAttributes, page{in.MaxResults, in.NextToken, 5})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSubnetsOutput{NextToken: next}
	for _, s := range found {
		out.Subnets = append(out.Subnets, types.Subnet{
			SubnetId: aws.String(s.id), VpcId: aws.String(s.vpc.id), OwnerId: aws.String(s.owner),
			AvailabilityZone: aws.String(s.zone.name), AvailabilityZoneId: aws.String(s.zone.id),
			CidrBlock: aws.String(s.cidr.String()), State: types.SubnetStateAvailable, Tags: tagList(s.tags),
			AvailableIpAddressCount: aws.Int32(int32(1<<(32-s.cidr.Bits()) - 5 - s.hosts)),
			SubnetArn:               aws.String("arn:aws:ec2:" + q.region.name + ":" + s.owner + ":subnet/" + s.id),
			DefaultForAz:            aws.Bool(false), MapPublicIpOnLaunch: aws.Bool(false),
		})
	}
	return out, nil
}

func (q *request) deleteSubnet(in *ec2.DeleteSubnetInput) (*ec2.DeleteSubnetOutput, error) {
	s, err := q.region.subnets.find(q, *in.SubnetId)
	if err != nil {
		return nil, err
	}
	for _, eni := range q.region.enis.order {
		if eni.subnet == s {
			return nil, ec2Error("DependencyViolation", "The subnet '"+s.id+"' has dependencies and cannot be deleted.")
		}
	}
	q.region.subnets.remove(s.id)
	return &ec2.DeleteSubnetOutput{}, nil
}
