package fakeaws

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var ruleOperations = []*operation{
	write("AuthorizeSecurityGroupIngress", (*request).authorizeIngress, "GroupId", "IpPermissions", "TagSpecifications"),
	write("AuthorizeSecurityGroupEgress", (*request).authorizeEgress, "GroupId", "IpPermissions", "TagSpecifications"),
	write("RevokeSecurityGroupIngress", (*request).revokeIngress, "GroupId", "IpPermissions", "SecurityGroupRuleIds"),
	write("RevokeSecurityGroupEgress", (*request).revokeEgress, "GroupId", "IpPermissions", "SecurityGroupRuleIds"),
	write("UpdateSecurityGroupRuleDescriptionsIngress", (*request).describeIngressAnew, "GroupId", "IpPermissions"),
	read("DescribeSecurityGroupRules", (*request).describeRules, "SecurityGroupRuleIds", "Filters", "MaxResults", "NextToken"),
}

// permission is what a rule lets through. Two rules of a group never have the
// same one, whatever their descriptions say.
type permission struct {
	egress              bool
	protocol            string
	from, to            int32
	cidr4, cidr6, group string // one of them
}

type rule struct {
	meta
	permission
	parent      *securityGroup
	owner       string
	description string
}

// maxRules is the quota of rules per group and direction.
const maxRules = 60

var ruleAttributes = attributes[*rule]{
	"group-id":               one(func(r *rule) string { return r.parent.id }),
	"security-group-rule-id": one(func(r *rule) string { return r.id }),
}

func (r *region) addRule(g *securityGroup, p permission) *rule {
	l := &rule{meta: r.account.cloud.newMeta("sgr", "", nil), permission: p, parent: g, owner: g.owner}
	g.rules = append(g.rules, l)
	r.rules.add(l)
	return l
}

func (r *region) removeRule(l *rule) {
	l.parent.rules = slices.DeleteFunc(l.parent.rules, func(o *rule) bool { return o == l })
	r.rules.remove(l.id)
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
		if d.description != nil && !groupText.MatchString(*d.description) {
			return nil, ec2Error("InvalidParameterValue", "Invalid rule description. Valid descriptions are strings less than 256 characters from the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*")
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

func (g *securityGroup) rule(p permission) *rule {
	for _, l := range g.rules {
		if l.permission == p {
			return l
		}
	}
	return nil
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

// text is the description as AWS shows it: none at all when it is empty.
func (l *rule) text() *string {
	if l.description == "" {
		return nil
	}
	return aws.String(l.description)
}

func (l *rule) describe(q *request) types.SecurityGroupRule {
	d := types.SecurityGroupRule{
		SecurityGroupRuleId: aws.String(l.id), GroupId: aws.String(l.parent.id), GroupOwnerId: aws.String(l.owner),
		SecurityGroupRuleArn: aws.String("arn:aws:ec2:" + q.region.name + ":" + l.owner + ":security-group-rule/" + l.id),
		IsEgress:             aws.Bool(l.egress), IpProtocol: aws.String(l.protocol), FromPort: aws.Int32(-1), ToPort: aws.Int32(-1),
		Description: l.text(), Tags: tagList(l.tags),
	}
	if l.hasPorts() {
		d.FromPort, d.ToPort = aws.Int32(l.from), aws.Int32(l.to)
	}
	switch {
	case l.cidr4 != "":
		d.CidrIpv4 = aws.String(l.cidr4)
	case l.cidr6 != "":
		d.CidrIpv6 = aws.String(l.cidr6)
	default:
		d.ReferencedGroupInfo = &types.ReferencedSecurityGroup{GroupId: aws.String(l.group), UserId: aws.String(l.owner)}
	}
	return d
}

func (q *request) authorizeIngress(in *ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	rules, err := q.authorize(in.GroupId, in.IpPermissions, in.TagSpecifications, false)
	if err != nil {
		return nil, err
	}
	return &ec2.AuthorizeSecurityGroupIngressOutput{Return: aws.Bool(true), SecurityGroupRules: rules}, nil
}

func (q *request) authorizeEgress(in *ec2.AuthorizeSecurityGroupEgressInput) (*ec2.AuthorizeSecurityGroupEgressOutput, error) {
	rules, err := q.authorize(in.GroupId, in.IpPermissions, in.TagSpecifications, true)
	if err != nil {
		return nil, err
	}
	return &ec2.AuthorizeSecurityGroupEgressOutput{Return: aws.Bool(true), SecurityGroupRules: rules}, nil
}

// authorize is all or nothing: one permission that is already there refuses the
// whole call, and nothing of it is added.
func (q *request) authorize(groupID *string, in []types.IpPermission, specs []types.TagSpecification, egress bool) ([]types.SecurityGroupRule, error) {
	tags, err := tagsOnCreate(specs, q.region.rules.kind)
	if err != nil {
		return nil, err
	}
	g, err := q.groupByID(groupID)
	if err != nil {
		return nil, err
	}
	add, err := q.parse(in, egress)
	if err != nil {
		return nil, err
	}
	n := len(add)
	for _, l := range g.rules {
		if l.egress == egress {
			n++
		}
	}
	if n > maxRules {
		return nil, ec2Error("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
	}
	for i, d := range add {
		if slices.ContainsFunc(add[:i], func(o described) bool { return o.permission == d.permission }) {
			return nil, ec2Error("InvalidParameterValue", "The same permission must not appear multiple times")
		}
		if g.rule(d.permission) != nil {
			return nil, ec2Error("InvalidPermission.Duplicate", fmt.Sprintf("the specified rule \"peer: %s%s%s, %s, from port: %d, to port: %d, ALLOW\" already exists", d.cidr4, d.cidr6, d.group, d.protocol, d.from, d.to))
		}
	}
	var out []types.SecurityGroupRule
	for _, d := range add {
		l := q.region.addRule(g, d.permission)
		l.description = aws.ToString(d.description)
		for k, v := range tags {
			q.region.rules.setTag(l.id, k, v)
		}
		out = append(out, l.describe(q))
	}
	return out, nil
}

func (q *request) revokeIngress(in *ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	if err := q.revoke(in.GroupId, in.IpPermissions, in.SecurityGroupRuleIds, false); err != nil {
		return nil, err
	}
	return &ec2.RevokeSecurityGroupIngressOutput{Return: aws.Bool(true)}, nil
}

func (q *request) revokeEgress(in *ec2.RevokeSecurityGroupEgressInput) (*ec2.RevokeSecurityGroupEgressOutput, error) {
	if err := q.revoke(in.GroupId, in.IpPermissions, in.SecurityGroupRuleIds, true); err != nil {
		return nil, err
	}
	return &ec2.RevokeSecurityGroupEgressOutput{Return: aws.Bool(true)}, nil
}

// revoke is all or nothing too: in a VPC that is not the default one, a permission
// that is not there refuses the call.
func (q *request) revoke(groupID *string, in []types.IpPermission, ids []string, egress bool) error {
	g, err := q.groupByID(groupID)
	if err != nil {
		return err
	}
	var doomed []*rule
	for _, id := range ids {
		l, err := q.region.rules.find(q, id)
		if err != nil {
			return err
		}
		if l.parent != g || l.egress != egress {
			return ec2Error("InvalidSecurityGroupRuleId.NotFound", "The security group rule ID '"+id+"' does not exist")
		}
		doomed = append(doomed, l)
	}
	if len(ids) == 0 {
		remove, err := q.parse(in, egress)
		if err != nil {
			return err
		}
		for _, d := range remove {
			l := g.rule(d.permission)
			if l == nil {
				return ec2Error("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
			}
			doomed = append(doomed, l)
		}
	}
	for _, l := range doomed {
		q.region.removeRule(l)
	}
	return nil
}

// describeIngressAnew changes the descriptions of rules that are there.
func (q *request) describeIngressAnew(in *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput) (*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error) {
	g, err := q.groupByID(in.GroupId)
	if err != nil {
		return nil, err
	}
	anew, err := q.parse(in.IpPermissions, false)
	if err != nil {
		return nil, err
	}
	for _, d := range anew {
		if g.rule(d.permission) == nil {
			return nil, ec2Error("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
	}
	for _, d := range anew {
		g.rule(d.permission).description = aws.ToString(d.description)
	}
	return &ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput{Return: aws.Bool(true)}, nil
}

func (q *request) describeRules(in *ec2.DescribeSecurityGroupRulesInput) (*ec2.DescribeSecurityGroupRulesOutput, error) {
	found, next, err := list(q, q.region.rules, in.SecurityGroupRuleIds, in.Filters, ruleAttributes, page{in.MaxResults, in.NextToken, 5})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupRulesOutput{NextToken: next}
	for _, l := range found {
		out.SecurityGroupRules = append(out.SecurityGroupRules, l.describe(q))
	}
	return out, nil
}
