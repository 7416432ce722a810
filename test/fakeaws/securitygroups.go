package fakeaws

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

var groupKind = declare[*securityGroup]("sg", "security-group", "InvalidGroup.NotFound")

func init() {
	register(EC2,
		write("CreateSecurityGroup", (*request).createGroup, "GroupName", "Description", "VpcId", "TagSpecifications"),
		read("DescribeSecurityGroups", (*request).describeGroups, "GroupIds", "Filters", "MaxResults", "NextToken"),
		write("DeleteSecurityGroup", (*request).deleteGroup, "GroupId"),
	)
	groupKind.label = func(g *securityGroup) string { return "group(" + g.name + ")" }
	groupKind.line = func(_ *picture, g *securityGroup) string {
		return fmt.Sprintf("%s of %s %q%s", g.id, g.vpc, g.description, tagText(g.tags))
	}
}

type securityGroup struct {
	meta
	owner             string
	vpc               string
	name, description string
	rules             []*rule
}

var groupAttributes = attributes[*securityGroup]{
	"group-id":    one(func(g *securityGroup) string { return g.id }),
	"group-name":  one(func(g *securityGroup) string { return g.name }),
	"description": one(func(g *securityGroup) string { return g.description }),
	"owner-id":    one(func(g *securityGroup) string { return g.owner }),
	"vpc-id":      one(func(g *securityGroup) string { return g.vpc }),
	"ip-permission.group-id": func(_ *request, g *securityGroup) []string {
		var ids []string
		for _, l := range g.rules {
			if !l.egress && l.group != "" {
				ids = append(ids, l.group)
			}
		}
		return ids
	},
}

// groupText matches the names and descriptions of groups and rules that EC2 allows.
var groupText = regexp.MustCompile(`^[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}$`)

// addGroup makes a group with the one rule that every new group has: all egress.
func (r *region) addGroup(vpcID, name, description string, tags map[string]string) *securityGroup {
	g := &securityGroup{meta: r.account.cloud.newMeta("sg", "", tags), owner: r.account.id, vpc: vpcID, name: name, description: description}
	r.groups.add(g)
	r.addRule(g, permission{egress: true, protocol: "-1", cidr4: "0.0.0.0/0"})
	return g
}

func (q *request) createGroup(in *ec2.CreateSecurityGroupInput) (*ec2.CreateSecurityGroupOutput, error) {
	tags, err := tagsOnCreate(in.TagSpecifications, q.region.groups.kind)
	if err != nil {
		return nil, err
	}
	if in.VpcId == nil {
		return nil, ec2Error("VPCIdNotSpecified", "No default VPC for this user")
	}
	v, err := q.region.vpcs.find(q, *in.VpcId)
	if err != nil {
		return nil, err
	}
	name, description := *in.GroupName, *in.Description
	if name == "" || !groupText.MatchString(name) || len(name) > 2 && name[:3] == "sg-" {
		return nil, ec2Error("InvalidParameterValue", "Value ("+name+") for parameter GroupName is invalid.")
	}
	if rule := awsrules.Get("ec2-group-description"); description == "" || !rule.Matches(description) {
		return nil, ec2Error(rule.Code, rule.Text(description))
	}
	for _, g := range q.region.groups.order {
		if g.vpc == v.id && g.name == name {
			return nil, ec2Error("InvalidGroup.Duplicate", "The security group '"+name+"' already exists for VPC '"+v.id+"'")
		}
	}
	g := q.region.addGroup(v.id, name, description, tags)
	g.born = q.now
	return &ec2.CreateSecurityGroupOutput{GroupId: aws.String(g.id), SecurityGroupArn: aws.String(g.arn(q)), Tags: tagList(g.tags)}, nil
}

func (g *securityGroup) arn(q *request) string {
	return "arn:aws:ec2:" + q.region.name + ":" + g.owner + ":security-group/" + g.id
}

func (q *request) describeGroups(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	found, next, err := list(q, q.region.groups, in.GroupIds, in.Filters, groupAttributes, page{in.MaxResults, in.NextToken, 5})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupsOutput{NextToken: next}
	for _, g := range found {
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{
			GroupId: aws.String(g.id), GroupName: aws.String(g.name), Description: aws.String(g.description), OwnerId: aws.String(g.owner),
			VpcId: aws.String(g.vpc), SecurityGroupArn: aws.String(g.arn(q)), Tags: tagList(g.tags),
			IpPermissions: g.permissions(false), IpPermissionsEgress: g.permissions(true),
		})
	}
	return out, nil
}

func (q *request) deleteGroup(in *ec2.DeleteSecurityGroupInput) (*ec2.DeleteSecurityGroupOutput, error) {
	if in.GroupId == nil {
		return nil, ec2Error("MissingParameter", "The request must contain the parameter groupName or groupId")
	}
	g, err := q.region.groups.find(q, *in.GroupId)
	if err != nil {
		return nil, err
	}
	if g.name == "default" {
		return nil, ec2Error("CannotDelete", "the specified group: \""+g.id+"\" name: \"default\" cannot be deleted by a user")
	}
	if q.region.groupUsed(g) {
		return nil, refused(http.StatusBadRequest, "DependencyViolation", "resource "+g.id+" has a dependent object")
	}
	for _, r := range g.rules {
		q.region.rules.remove(r.id)
	}
	q.region.groups.remove(g.id)
	return &ec2.DeleteSecurityGroupOutput{GroupId: aws.String(g.id), Return: aws.Bool(true)}, nil
}

// groupUsed: by a network interface, or by a rule of another group.
func (r *region) groupUsed(g *securityGroup) bool {
	return slices.ContainsFunc(r.enis.order, func(i *networkInterface) bool { return slices.Contains(i.groups, g) }) ||
		slices.ContainsFunc(r.rules.order, func(l *rule) bool { return l.parent != g && l.group == g.id })
}

// groupByID finds the group of a rule operation.
func (q *request) groupByID(id *string) (*securityGroup, error) {
	if id == nil {
		return nil, ec2Error("MissingParameter", fmt.Sprintf("%s: the request must contain the parameter groupId", q.operation))
	}
	return q.region.groups.find(q, *id)
}
