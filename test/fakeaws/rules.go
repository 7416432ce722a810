package fakeaws

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

var ruleKind = declare[*rule]("sgr", "security-group-rule", "InvalidSecurityGroupRuleId.NotFound")

func init() {
	register(EC2,
		write("AuthorizeSecurityGroupIngress", (*request).authorizeIngress, "GroupId", "IpPermissions", "TagSpecifications"),
		write("AuthorizeSecurityGroupEgress", (*request).authorizeEgress, "GroupId", "IpPermissions", "TagSpecifications"),
		write("RevokeSecurityGroupIngress", (*request).revokeIngress, "GroupId", "IpPermissions", "SecurityGroupRuleIds"),
		write("RevokeSecurityGroupEgress", (*request).revokeEgress, "GroupId", "IpPermissions", "SecurityGroupRuleIds"),
		write("UpdateSecurityGroupRuleDescriptionsIngress", (*request).describeIngressAnew, "GroupId", "IpPermissions"),
		read("DescribeSecurityGroupRules", (*request).describeRules, "SecurityGroupRuleIds", "Filters", "MaxResults", "NextToken"),
	)
	ruleKind.line = func(_ *picture, l *rule) string {
		return fmt.Sprintf("rule of %s egress=%t %s %d-%d %s%s%s %q%s", l.parent.id, l.egress, l.protocol, l.from, l.to, l.cidr4, l.cidr6, l.group, l.description, tagText(l.tags))
	}
}

type rule struct {
	meta
	permission
	parent      *securityGroup
	owner       string
	description string
}

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

func (g *securityGroup) rule(p permission) *rule {
	for _, l := range g.rules {
		if l.permission == p {
			return l
		}
	}
	return nil
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

// authorize is atomic: one permission that already exists refuses the whole call, and none of its permissions is added.
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
	if rule := awsrules.Get("ec2-rules-per-group"); n > int(rule.Limit) {
		return nil, ec2Error(rule.Code, rule.Text(g.id))
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

// revoke is atomic too: in a VPC that is not the default one, a missing permission refuses the call.
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
