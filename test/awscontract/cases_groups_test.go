package awscontract

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// group makes a security group in the consumer's VPC.
func (r *run) group() string {
	name := r.unique("contract")
	out, err := r.consumer.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{
		GroupName: &name, Description: aws.String("contract"), VpcId: &r.vpc, TagSpecifications: spec(types.ResourceTypeSecurityGroup, "contract", name)})
	r.ok("CreateSecurityGroup", err)
	r.later(func() {
		_, _ = r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: out.GroupId})
	})
	return *out.GroupId
}

func https(cidrs ...string) []types.IpPermission {
	p := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443)}
	for _, c := range cidrs {
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: &c, Description: aws.String("for " + c)})
	}
	return []types.IpPermission{p}
}

func (r *run) authorize(id string, p []types.IpPermission) error {
	_, err := r.consumer.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id, IpPermissions: p})
	return err
}

func (r *run) revoke(id string, p []types.IpPermission) error {
	_, err := r.consumer.ec2.RevokeSecurityGroupIngress(r.ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: p})
	return err
}

func (r *run) ingress(id string) []types.IpPermission {
	out, err := r.consumer.ec2.DescribeSecurityGroups(r.ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	r.ok("DescribeSecurityGroups", err)
	return out.SecurityGroups[0].IpPermissions
}

// ranges lists the CIDRs of the first permission.
func ranges(p []types.IpPermission) []string {
	var out []string
	for _, one := range p {
		for _, c := range one.IpRanges {
			out = append(out, aws.ToString(c.CidrIp))
		}
	}
	slices.Sort(out)
	return out
}

var groupCases = []contract{
	{name: "a new group lets everything out and nothing in", steps: func(r *run) {
		id := r.group()
		out, err := r.consumer.ec2.DescribeSecurityGroups(r.ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		r.ok("DescribeSecurityGroups", err)
		g := out.SecurityGroups[0]
		r.equal("ingress", len(g.IpPermissions), 0)
		r.equal("egress", ranges(g.IpPermissionsEgress), []string{"0.0.0.0/0"})
		r.equal("protocol", aws.ToString(g.IpPermissionsEgress[0].IpProtocol), "-1")
		r.equal("owner", aws.ToString(g.OwnerId), r.consumer.account)
	}},
	{name: "two groups of a VPC cannot have one name", steps: func(r *run) {
		in := &ec2.CreateSecurityGroupInput{GroupName: aws.String(r.unique("twice")), Description: aws.String("contract"), VpcId: &r.vpc}
		out, err := r.consumer.ec2.CreateSecurityGroup(r.ctx, in)
		r.ok("CreateSecurityGroup", err)
		r.later(func() {
			_, _ = r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: out.GroupId})
		})
		_, err = r.consumer.ec2.CreateSecurityGroup(r.ctx, in)
		r.refused("CreateSecurityGroup", err, "InvalidGroup.Duplicate")
	}},
	{name: "rules of one protocol and port come back as one permission with many ranges", steps: func(r *run) {
		id := r.group()
		r.ok("Authorize", r.authorize(id, https("10.0.0.0/16")))
		r.ok("Authorize", r.authorize(id, https("10.1.0.0/16")))
		r.equal("permissions", len(r.ingress(id)), 1)
		r.equal("ranges", ranges(r.ingress(id)), []string{"10.0.0.0/16", "10.1.0.0/16"})
	}},
	{name: "one rule that exists refuses all rules of the call", steps: func(r *run) {
		id := r.group()
		r.ok("Authorize", r.authorize(id, https("10.0.0.0/16")))
		r.refused("Authorize", r.authorize(id, https("10.0.0.0/16", "10.1.0.0/16")), "InvalidPermission.Duplicate")
		r.equal("ranges", ranges(r.ingress(id)), []string{"10.0.0.0/16"})
	}},
	{name: "a description does not make a rule another one", steps: func(r *run) {
		id := r.group()
		r.ok("Authorize", r.authorize(id, https("10.0.0.0/16")))
		again := https("10.0.0.0/16")
		again[0].IpRanges[0].Description = aws.String("other words")
		r.refused("Authorize", r.authorize(id, again), "InvalidPermission.Duplicate")
	}},
	{name: "a CIDR loses its host bits", steps: func(r *run) {
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html
		id := r.group()
		r.ok("Authorize", r.authorize(id, https("100.68.0.18/18")))
		r.equal("ranges", ranges(r.ingress(id)), []string{"100.68.0.0/18"})
	}},
	{name: "a malformed CIDR is refused", steps: func(r *run) {
		r.refused("Authorize", r.authorize(r.group(), https("10.0.0.0/40")), "InvalidParameterValue")
	}},
	{name: "a rule is revoked, and a second time it is not found", steps: func(r *run) {
		id := r.group()
		r.ok("Authorize", r.authorize(id, https("10.0.0.0/16", "10.1.0.0/16")))
		r.ok("Revoke", r.revoke(id, https("10.0.0.0/16")))
		r.equal("ranges", ranges(r.ingress(id)), []string{"10.1.0.0/16"})
		r.refused("Revoke", r.revoke(id, https("10.0.0.0/16")), "InvalidPermission.NotFound")
	}},
	{name: "one rule that is missing keeps all rules of a revocation", steps: func(r *run) {
		id := r.group()
		r.ok("Authorize", r.authorize(id, https("10.0.0.0/16")))
		r.refused("Revoke", r.revoke(id, https("10.0.0.0/16", "10.9.0.0/16")), "InvalidPermission.NotFound")
		r.equal("ranges", ranges(r.ingress(id)), []string{"10.0.0.0/16"})
	}},
	{name: "what was described can be revoked as it is", steps: func(r *run) {
		id := r.group()
		r.ok("Authorize", r.authorize(id, append(https("10.0.0.0/16"), types.IpPermission{
			IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}})))
		r.ok("Revoke", r.revoke(id, r.ingress(id)))
		r.equal("permissions", len(r.ingress(id)), 0)
	}},
	{name: "a group that another group's rule names cannot be deleted", steps: func(r *run) {
		used, user := r.group(), r.group()
		r.ok("Authorize", r.authorize(user, []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &used}}}}))
		_, err := r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &used})
		r.refused("DeleteSecurityGroup", err, "DependencyViolation")
	}},
	{name: "the default group cannot be deleted", steps: func(r *run) {
		out, err := r.consumer.ec2.DescribeSecurityGroups(r.ctx, &ec2.DescribeSecurityGroupsInput{
			Filters: append(filter("vpc-id", r.other), filter("group-name", "default")...)})
		r.ok("DescribeSecurityGroups", err)
		r.equal("default groups", len(out.SecurityGroups), 1)
		_, err = r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: out.SecurityGroups[0].GroupId})
		r.refused("DeleteSecurityGroup", err, "CannotDelete")
	}},
	{name: "a deleted group is not found", steps: func(r *run) {
		id := r.group()
		_, err := r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		r.ok("DeleteSecurityGroup", err)
		_, err = r.consumer.ec2.DescribeSecurityGroups(r.ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		r.refused("DescribeSecurityGroups", err, "InvalidGroup.NotFound")
		_, err = r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		r.refused("DeleteSecurityGroup", err, "InvalidGroup.NotFound")
	}},
}
