package fakeaws

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// permission is the traffic that a rule permits. Two rules of a group never have equal permissions, whatever their descriptions are.
type permission struct {
	egress              bool
	protocol            string
	from, to            int32
	cidr4, cidr6, group string // one of them
}

// described is a permission with the description that came with it.
type described struct {
	permission
	description *string
}

// parse takes IpPermissions apart, one permission for each range or group.
func (q *request) parse(in []types.IpPermission, egress bool) ([]described, error) {
	var out []described
	for _, p := range in {
		if len(p.PrefixListIds) > 0 {
			q.misuse("%s: PrefixListIds are not supported", q.operation)
		}
		base, err := ports(p, egress)
		if err != nil {
			return nil, err
		}
		for _, r := range p.IpRanges {
			one := base
			if one.cidr4, err = canonical(aws.ToString(r.CidrIp), true); err != nil {
				return nil, err
			}
			out = append(out, described{one, r.Description})
		}
		for _, r := range p.Ipv6Ranges {
			one := base
			if one.cidr6, err = canonical(aws.ToString(r.CidrIpv6), false); err != nil {
				return nil, err
			}
			out = append(out, described{one, r.Description})
		}
		for _, r := range p.UserIdGroupPairs {
			g, err := q.groupByID(r.GroupId)
			if err != nil {
				return nil, err
			}
			one := base
			one.group = g.id
			out = append(out, described{one, r.Description})
		}
	}
	for _, d := range out {
		if rule := awsrules.Get("ec2-rule-description"); d.description != nil && !rule.Matches(*d.description) {
			return nil, ec2Error(rule.Code, rule.Text(*d.description))
		}
	}
	if len(out) == 0 {
		return nil, ec2Error("MissingParameter", "The request must contain the parameter ipPermissions with a source or destination")
	}
	return out, nil
}

// ports reads protocol and ports. Protocol -1 is everything, whatever the ports say.
func ports(p types.IpPermission, egress bool) (permission, error) {
	out := permission{egress: egress, protocol: aws.ToString(p.IpProtocol)}
	if name := map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}[out.protocol]; name != "" {
		out.protocol = name
	}
	switch out.protocol {
	case "tcp", "udp":
		if p.FromPort == nil || p.ToPort == nil {
			return out, ec2Error("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		out.from, out.to = *p.FromPort, *p.ToPort
		if out.from < 0 || out.to > 65535 || out.from > out.to {
			return out, ec2Error("InvalidParameterValue", fmt.Sprintf("Invalid TCP/UDP port range (%d:%d)", out.from, out.to))
		}
	case "icmp", "icmpv6":
		out.from, out.to = aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort)
	case "":
		return out, ec2Error("MissingParameter", "The request must contain the parameter ipProtocol")
	}
	return out, nil
}

// canonical clears the host bits: 10.0.1.2/16 is kept, and shown, as 10.0.0.0/16.
func canonical(cidr string, v4 bool) (string, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || p.Addr().Is4() != v4 {
		return "", ec2Error("InvalidParameterValue", "CIDR block "+cidr+" is malformed")
	}
	return p.Masked().String(), nil
}

// permissions is the older view of the rules: one entry for each protocol and port
// range, with all its ranges and groups.
func (g *securityGroup) permissions(egress bool) []types.IpPermission {
	out := []types.IpPermission{}
	at := map[permission]int{}
	for _, l := range g.rules {
		if l.egress != egress {
			continue
		}
		key := permission{protocol: l.protocol, from: l.from, to: l.to}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			p := types.IpPermission{IpProtocol: aws.String(l.protocol)}
			if l.hasPorts() {
				p.FromPort, p.ToPort = aws.Int32(l.from), aws.Int32(l.to)
			}
			out = append(out, p)
		}
		switch {
		case l.cidr4 != "":
			out[i].IpRanges = append(out[i].IpRanges, types.IpRange{CidrIp: aws.String(l.cidr4), Description: l.text()})
		case l.cidr6 != "":
			out[i].Ipv6Ranges = append(out[i].Ipv6Ranges, types.Ipv6Range{CidrIpv6: aws.String(l.cidr6), Description: l.text()})
		default:
			out[i].UserIdGroupPairs = append(out[i].UserIdGroupPairs, types.UserIdGroupPair{GroupId: aws.String(l.group), UserId: aws.String(l.owner), Description: l.text()})
		}
	}
	return out
}

func (p permission) hasPorts() bool {
	return slices.Contains([]string{"tcp", "udp", "icmp", "icmpv6"}, p.protocol)
}
