package awscontract

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// modelCases are requests that the SDK sends although the service models do not allow them: the SDK checks required members only.
var modelCases = []contract{
	{name: "a client token has at most 64 characters", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, &ec2.CreateVpcEndpointInput{
			VpcId: &r.vpc, ServiceName: aws.String("com.amazonaws." + region + ".sts"), VpcEndpointType: ec2types.VpcEndpointTypeInterface,
			ClientToken: aws.String(strings.Repeat("t", 65)),
		})
		r.refusedByModel("CreateVpcEndpoint", err, "ec2.CreateVpcEndpoint InvalidParameterValue")
	}},
	{name: "a type of resources that does not exist has no tags", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{
			VpcId: &r.vpc, GroupName: aws.String(r.unique("models")), Description: aws.String("models"),
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: "group", Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}},
		})
		r.refusedByModel("CreateSecurityGroup", err, "ec2.CreateSecurityGroup InvalidParameterValue")
	}},
	{name: "the value of a tag has at most 256 characters", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateTags(r.ctx, &ec2.CreateTagsInput{
			Resources: []string{r.vpc}, Tags: []ec2types.Tag{{Key: aws.String("models"), Value: aws.String(strings.Repeat("v", 257))}},
		})
		r.refusedByModel("CreateTags", err, "ec2.CreateTags InvalidParameterValue")
	}},
	{name: "a page of load balancers has at most 400", steps: func(r *run) {
		_, err := r.provider.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(401)})
		r.refusedByModel("DescribeLoadBalancers", err, "elasticloadbalancing.DescribeLoadBalancers ValidationError")
	}},
	{name: "a record has one of the types of Route 53", steps: func(r *run) {
		err := r.changeInvalid(&r53types.ResourceRecordSet{Type: "ALIAS", TTL: aws.Int64(60)})
		r.refusedByModel("ChangeResourceRecordSets", err, "route53.ChangeResourceRecordSets InvalidInput")
	}},
	{name: "a TTL is not negative", steps: func(r *run) {
		err := r.changeInvalid(&r53types.ResourceRecordSet{Type: r53types.RRTypeA, TTL: aws.Int64(-1)})
		r.refusedByModel("ChangeResourceRecordSets", err, "route53.ChangeResourceRecordSets InvalidInput")
	}},
	{name: "the name of a session has no slash", steps: func(r *run) {
		_, err := r.consumer.sts.AssumeRole(r.ctx, &sts.AssumeRoleInput{RoleArn: &r.role, RoleSessionName: aws.String("a/b")})
		r.refusedByModel("AssumeRole", err, "sts.AssumeRole ValidationError")
	}},
}

func (r *run) changeInvalid(set *r53types.ResourceRecordSet) error {
	set.Name, set.ResourceRecords = aws.String("models."+r.domain), []r53types.ResourceRecord{{Value: aws.String("192.0.2.1")}}
	_, err := r.consumer.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &r.hostedZone, ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{Action: r53types.ChangeActionUpsert, ResourceRecordSet: set}}},
	})
	return err
}
