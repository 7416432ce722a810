package securitygroup

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// API is the part of EC2 that this package calls.
type API interface {
	ec2util.Retagger
	DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
	Creator
	Ingress
	DeleteSecurityGroup(context.Context, *ec2.DeleteSecurityGroupInput, ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error)
	DescribeNetworkInterfaces(context.Context, *ec2.DescribeNetworkInterfacesInput, ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error)
}

// Creator is the part of EC2 that Create calls.
type Creator interface {
	CreateSecurityGroup(context.Context, *ec2.CreateSecurityGroupInput, ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error)
}

// Ingress is the part of EC2 that SetIngress calls.
type Ingress interface {
	AuthorizeSecurityGroupIngress(context.Context, *ec2.AuthorizeSecurityGroupIngressInput, ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error)
	RevokeSecurityGroupIngress(context.Context, *ec2.RevokeSecurityGroupIngressInput, ...func(*ec2.Options)) (*ec2.RevokeSecurityGroupIngressOutput, error)
}

// Spec is the group we want.
type Spec struct {
	Role        string
	Name        string
	Description string
	VPC         string
	Rules       []Rule
	// Leave is true for a rule that stays although it is not in Rules. Nil leaves
	// none.
	Leave func(Foreign) bool
	Tags  awsx.Tags
	// StaleTags are keys of tags that it may have and should not.
	StaleTags []string
	Hooks     awsx.Hooks
}

// A Rule allows a network, or the members of the group itself, a range of ports.
type Rule struct {
	// Protocol is tcp, udp, icmp, icmpv6, the number of one without ports, or
	// AllProtocols.
	Protocol string
	// From and To are ports; for icmp and icmpv6 -1 for everything.
	From, To int32
	// Source is masked, of either family. Without one it is the group itself.
	Source      netip.Prefix
	Description string
}

// AllProtocols allows all traffic, on all ports.
const AllProtocols = "-1"

// Foreign is a rule that is not in the spec.
type Foreign struct {
	Description string
	// Group is the security group that it lets in, if it is one.
	Group string
}

// Group is a group as last observed.
type Group struct {
	ID, Name, VPC string
	Tags          awsx.Tags
	ingress       []ingress
}

// A TakenError is returned when the name belongs to a group of another owner.
type TakenError struct{ Name, VPC string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("security group %q exists in %s and is not ours; delete or rename it", e.Name, e.VPC)
}

// ingress is one source of one permission: the smallest thing that can be
// authorized or revoked.
type ingress struct {
	protocol string
	from, to int32
	source   string // network, prefix list or group
	foreign  Foreign
	wire     types.IpPermission
}

// key leaves the wire form out: a description is not a difference.
type key struct {
	protocol string
	from, to int32
	source   string
}

func (i ingress) key() key { return key{i.protocol, i.from, i.to, i.source} }

// ingress is the rule in the group with that id.
func (r Rule) ingress(group string) ingress {
	out := ingress{protocol: r.Protocol, from: r.From, to: r.To, wire: types.IpPermission{IpProtocol: &r.Protocol}}
	switch r.Protocol {
	case "tcp", "udp", "icmp", "icmpv6":
		out.wire.FromPort, out.wire.ToPort = &r.From, &r.To
	}
	network := r.Source.String()
	var description *string
	if r.Description != "" {
		description = &r.Description
	}
	switch {
	case !r.Source.IsValid():
		out.source = group
		out.wire.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: &group, Description: description}}
	case r.Source.Addr().Is6():
		out.source = network
		out.wire.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: &network, Description: description}}
	default:
		out.source = network
		out.wire.IpRanges = []types.IpRange{{CidrIp: &network, Description: description}}
	}
	return out
}

// Read returns a group as EC2 describes it.
func Read(g types.SecurityGroup) Group {
	out := Group{ID: aws.ToString(g.GroupId), Name: aws.ToString(g.GroupName), VPC: aws.ToString(g.VpcId), Tags: ec2util.Tags(g.Tags)}
	for _, p := range g.IpPermissions {
		out.ingress = append(out.ingress, split(p)...)
	}
	return out
}

// split takes a permission of EC2 apart into its sources.
func split(p types.IpPermission) []ingress {
	var out []ingress
	add := func(source string, description *string, only func(*types.IpPermission)) {
		one := types.IpPermission{IpProtocol: p.IpProtocol, FromPort: p.FromPort, ToPort: p.ToPort}
		only(&one)
		out = append(out, ingress{
			protocol: aws.ToString(p.IpProtocol), from: aws.ToInt32(p.FromPort), to: aws.ToInt32(p.ToPort), source: source, wire: one,
			foreign: Foreign{Description: aws.ToString(description)},
		})
	}
	for _, r := range p.IpRanges {
		add(canonical(aws.ToString(r.CidrIp)), r.Description, func(one *types.IpPermission) { one.IpRanges = []types.IpRange{r} })
	}
	for _, r := range p.Ipv6Ranges {
		add(canonical(aws.ToString(r.CidrIpv6)), r.Description, func(one *types.IpPermission) { one.Ipv6Ranges = []types.Ipv6Range{r} })
	}
	for _, l := range p.PrefixListIds {
		add(aws.ToString(l.PrefixListId), l.Description, func(one *types.IpPermission) { one.PrefixListIds = []types.PrefixListId{l} })
	}
	for _, g := range p.UserIdGroupPairs {
		add(aws.ToString(g.GroupId), g.Description, func(one *types.IpPermission) { one.UserIdGroupPairs = []types.UserIdGroupPair{g} })
		out[len(out)-1].foreign.Group = aws.ToString(g.GroupId)
	}
	return out
}

// canonical writes a network in one way only: IPv6 has several.
func canonical(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return cidr
	}
	return p.Masked().String()
}
