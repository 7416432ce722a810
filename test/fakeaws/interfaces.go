package fakeaws

import (
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var interfaceKind = declare[*networkInterface]("eni", "network-interface", "InvalidNetworkInterfaceID.NotFound")

func init() {
	register(EC2,
		read("DescribeNetworkInterfaces", (*request).describeInterfaces, "NetworkInterfaceIds", "Filters", "MaxResults", "NextToken"),
	)
}

// networkInterface is an interface that AWS keeps for an endpoint.
type networkInterface struct {
	meta
	subnet      *subnet
	groups      []*securityGroup
	address     netip.Addr
	description string
}

var interfaceAttributes = attributes[*networkInterface]{
	"network-interface-id": one(func(i *networkInterface) string { return i.id }),
	"subnet-id":            one(func(i *networkInterface) string { return i.subnet.id }),
	"vpc-id":               one(func(i *networkInterface) string { return i.subnet.vpc.id }),
	"description":          one(func(i *networkInterface) string { return i.description }),
	"interface-type":       one(func(*networkInterface) string { return "vpc_endpoint" }),
	"status":               one(func(*networkInterface) string { return "in-use" }),
	"group-id": func(_ *request, i *networkInterface) []string {
		var ids []string
		for _, g := range i.groups {
			ids = append(ids, g.id)
		}
		return ids
	},
}

func (q *request) addInterface(n *subnet, description string) *networkInterface {
	i := &networkInterface{meta: q.made("eni", nil), subnet: n, description: description, address: n.cidr.Addr()}
	n.hosts++
	for range 3 + n.hosts { // the first addresses of a subnet are AWS's own
		i.address = i.address.Next()
	}
	q.region.enis.add(i)
	return i
}

func (q *request) describeInterfaces(in *ec2.DescribeNetworkInterfacesInput) (*ec2.DescribeNetworkInterfacesOutput, error) {
	found, next, err := list(q, q.region.enis, in.NetworkInterfaceIds, in.Filters, interfaceAttributes, page{in.MaxResults, in.NextToken, 5})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeNetworkInterfacesOutput{NextToken: next}
	for _, i := range found {
		d := types.NetworkInterface{
			NetworkInterfaceId: aws.String(i.id), SubnetId: aws.String(i.subnet.id), VpcId: aws.String(i.subnet.vpc.id), OwnerId: aws.String(q.account.id),
			AvailabilityZone: aws.String(i.subnet.zone.name), AvailabilityZoneId: aws.String(i.subnet.zone.id), Description: aws.String(i.description),
			InterfaceType: types.NetworkInterfaceTypeVpcEndpoint, RequesterManaged: aws.Bool(true), Status: types.NetworkInterfaceStatusInUse,
			PrivateIpAddress: aws.String(i.address.String()), TagSet: tagList(i.tags),
		}
		for _, g := range i.groups {
			d.Groups = append(d.Groups, types.GroupIdentifier{GroupId: aws.String(g.id), GroupName: aws.String(g.name)})
		}
		out.NetworkInterfaces = append(out.NetworkInterfaces, d)
	}
	return out, nil
}
