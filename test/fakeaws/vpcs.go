package fakeaws

import (
	"maps"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var vpcKind = declare[*vpc]("vpc", "vpc", "InvalidVpcID.NotFound")

func init() {
	register(EC2,
		read("DescribeVpcs", (*request).describeVpcs, "VpcIds", "Filters", "MaxResults", "NextToken"),
	)
	vpcKind.label = func(v *vpc) string { return "vpc(" + v.cidr.String() + tagText(v.tags) + ")" }
	vpcKind.line = func(_ *picture, v *vpc) string { return v.id }
}

// VPC is a seed for AddVPC.
type VPC struct {
	ID   string // made up if empty
	CIDR string // 10.0.0.0/16 if empty
	Tags map[string]string
}

type vpc struct {
	meta
	owner        string
	cidr         netip.Prefix
	defaultGroup *securityGroup
}

var vpcAttributes = attributes[*vpc]{
	"vpc-id":     one(func(v *vpc) string { return v.id }),
	"cidr":       one(func(v *vpc) string { return v.cidr.String() }),
	"owner-id":   one(func(v *vpc) string { return v.owner }),
	"state":      one(func(*vpc) string { return "available" }),
	"is-default": one(func(*vpc) string { return "false" }),
}

// AddVPC makes a VPC with its default security group and returns its id.
func (a *Account) AddVPC(region string, seed VPC) string {
	c := a.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	if seed.CIDR == "" {
		seed.CIDR = "10.0.0.0/16"
	}
	r := a.region(region)
	v := &vpc{meta: c.newMeta("vpc", seed.ID, seed.Tags), owner: a.id, cidr: netip.MustParsePrefix(seed.CIDR)}
	r.vpcs.add(v)
	v.defaultGroup = r.addGroup(v.id, "default", "default VPC security group", nil)
	r.addRule(v.defaultGroup, permission{protocol: "-1", group: v.defaultGroup.id})
	return v.id
}

// newMeta makes the common part of a resource. Seeds have existed for ever.
func (c *Cloud) newMeta(prefix, id string, tags map[string]string) meta {
	generated := c.id(prefix)
	if id == "" {
		id = generated
	}
	return meta{id: id, sequence: c.sequence, tags: maps.Clone(tags)}
}

// made is newMeta for a resource that a call makes.
func (q *request) made(prefix string, tags map[string]string) meta {
	m := q.cloud.newMeta(prefix, "", tags)
	m.born = q.now
	return m
}

func (q *request) describeVpcs(in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
	found, next, err := list(q, q.region.vpcs, in.VpcIds, in.Filters, vpcAttributes, page{in.MaxResults, in.NextToken, 5})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcsOutput{NextToken: next}
	for _, v := range found {
		out.Vpcs = append(out.Vpcs, types.Vpc{
			VpcId: aws.String(v.id), CidrBlock: aws.String(v.cidr.String()), OwnerId: aws.String(v.owner),
			State: types.VpcStateAvailable, IsDefault: aws.Bool(false), InstanceTenancy: types.TenancyDefault, Tags: tagList(v.tags),
			CidrBlockAssociationSet: []types.VpcCidrBlockAssociation{{
				CidrBlock:      aws.String(v.cidr.String()),
				CidrBlockState: &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociated},
			}},
		})
	}
	return out, nil
}
