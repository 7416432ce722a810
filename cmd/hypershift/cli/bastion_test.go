package cli_test

import (
	"encoding/json"
	"fmt"

	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/bastion"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func createBastion(more ...string) []string {
	return append([]string{"create", "bastion", "aws", "--infra-id", "demo-x7k2p", "--name", "demo"}, more...)
}

func destroyBastion(more ...string) []string {
	return append([]string{"destroy", "bastion", "aws", "--infra-id", "demo-x7k2p", "--yes"}, more...)
}

// givenNetwork creates the network of the cluster, which is then none of the resources that a test counts.
func (u *user) givenNetwork(more ...string) {
	u.t.Helper()
	u.try(emulator.Given(u.t.Context(), u.account, func() error {
		u.must(createInfra("us-east-1a,us-east-1b", append(more, "--output-file", u.infraJSON())...)...)
		return nil
	}))
}

// bastion returns the only instance of the account.
func (u *user) bastion() ec2types.Instance {
	u.t.Helper()
	for {
		out, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeInstances(u.t.Context(), &ec2.DescribeInstancesInput{
			Filters: []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}}},
		})
		u.try(err)
		if len(out.Reservations) != 1 || len(out.Reservations[0].Instances) != 1 {
			u.t.Fatalf("there are %d reservations", len(out.Reservations))
		}
		if i := out.Reservations[0].Instances[0]; i.State.Name != ec2types.InstanceStateNamePending {
			return i
		}
		time.Sleep(100 * time.Millisecond) // it was stopped, and starts
	}
}

// changeBastion changes by hand the attributes that create bastion repairs.
func (u *user) changeBastion() {
	u.t.Helper()
	ctx, e, i := u.t.Context(), ec2.NewFromConfig(emulator.Config(u.account)), awsiam.NewFromConfig(emulator.Config(u.account))
	instance, name := u.bastion(), aws.String("demo-x7k2p-bastion")
	_, err := e.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: instance.SecurityGroups[0].GroupId, IpPermissions: []ec2types.IpPermission{
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}},
	}})
	u.try(err)
	groups, err := e.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("group-name"), Values: []string{"default"}}, {Name: aws.String("vpc-id"), Values: []string{*instance.VpcId}},
	}})
	u.try(err)
	_, err = e.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: instance.InstanceId, Groups: []string{*groups.SecurityGroups[0].GroupId}})
	u.try(err)
	_, err = e.ModifyInstanceMetadataOptions(ctx, &ec2.ModifyInstanceMetadataOptionsInput{InstanceId: instance.InstanceId, HttpTokens: ec2types.HttpTokensStateOptional})
	u.try(err)
	_, err = e.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{*instance.InstanceId}})
	u.try(err)
	source := "hypershift.openshift.io/source"
	_, err = e.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{*instance.InstanceId}, Tags: []ec2types.Tag{{Key: aws.String(source)}}})
	u.try(err)
	_, err = i.UpdateAssumeRolePolicy(ctx, &awsiam.UpdateAssumeRolePolicyInput{RoleName: name, PolicyDocument: aws.String(awsemulator.TrustRole("arn:aws:iam::" + u.account + ":root"))})
	u.try(err)
	_, err = i.UntagRole(ctx, &awsiam.UntagRoleInput{RoleName: name, TagKeys: []string{source}})
	u.try(err)
	_, err = i.UntagInstanceProfile(ctx, &awsiam.UntagInstanceProfileInput{InstanceProfileName: name, TagKeys: []string{source}})
	u.try(err)
}

// checkBastion checks that only a session reaches the instance, and returns it.
func (u *user) checkBastion() ec2types.Instance {
	u.t.Helper()
	ctx, e := u.t.Context(), ec2.NewFromConfig(emulator.Config(u.account))
	instance := u.bastion()
	if len(instance.SecurityGroups) != 1 || *instance.SecurityGroups[0].GroupName != "demo-x7k2p-bastion" {
		u.t.Fatalf("groups %+v", instance.SecurityGroups)
	}
	groups, err := e.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*instance.SecurityGroups[0].GroupId}})
	u.try(err)
	volumes, err := e.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{{Name: aws.String("attachment.instance-id"), Values: []string{*instance.InstanceId}}}})
	u.try(err)
	for problem, found := range map[string]bool{
		"a port is open":                    len(groups.SecurityGroups[0].IpPermissions) > 0,
		"a key may log in":                  aws.ToString(instance.KeyName) != "",
		"metadata need no token":            instance.MetadataOptions.HttpTokens != ec2types.HttpTokensStateRequired,
		"it does not run":                   instance.State.Name != ec2types.InstanceStateNameRunning,
		"the volume is not encrypted":       len(volumes.Volumes) != 1 || !aws.ToBool(volumes.Volumes[0].Encrypted),
		"the profile is another":            instance.IamInstanceProfile == nil || !strings.HasSuffix(*instance.IamInstanceProfile.Arn, "/demo-x7k2p-bastion"),
		"the image is not of Amazon Linux":  *instance.ImageId != awsemulator.ImageAMD64,
		"the type is not that of the flags": instance.InstanceType != ec2types.InstanceTypeT3Micro,
	} {
		if found {
			u.t.Error(problem)
		}
	}
	return instance
}

func TestBastionIsReachedThroughSessionsOnly(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.givenNetwork()
	if code := u.run(createBastion("--plan")...); code != cli.Changes || len(u.writes) > 0 {
		t.Errorf("plan: exit code %d, writes %v\n%s", code, u.writes, u.err.String())
	}
	u.must(createBastion()...)
	instance := u.checkBastion()
	if instance.PublicIpAddress != nil || *instance.SubnetId != u.made().Zones[0].SubnetID {
		t.Errorf("address %s in %s", aws.ToString(instance.PublicIpAddress), *instance.SubnetId)
	}
	for _, want := range []string{
		"aws ssm start-session --region us-east-1 --target " + *instance.InstanceId + "\n",
		`--parameters '{"host":["api.demo.hypershift.local"],"portNumber":["443"],"localPortNumber":["6443"]}'`, "--tls-server-name api.demo.hypershift.local",
	} {
		if !strings.Contains(u.out.String(), want) {
			t.Errorf("%q is not in\n%s", want, u.out.String())
		}
	}
	role, err := awsiam.NewFromConfig(emulator.Config(u.account)).GetRolePolicy(t.Context(), &awsiam.GetRolePolicyInput{RoleName: aws.String("demo-x7k2p-bastion"), PolicyName: aws.String("demo-x7k2p-bastion")})
	u.try(err)
	if policy := decode(t, *role.PolicyDocument); strings.Contains(policy, "GetParameter") || strings.Contains(policy, ":*") {
		t.Errorf("policy %s", policy)
	}

	u.must(createBastion("-o", "json")...)
	var result bastion.Output
	u.try(json.Unmarshal(u.out.Bytes(), &result))
	if len(u.writes) > 0 || result.InstanceID != *instance.InstanceId {
		t.Errorf("the second run has written %v and returned %+v", u.writes, result)
	}

	u.changeBastion()
	u.must(createBastion()...)
	if again := u.checkBastion(); *again.InstanceId != *instance.InstanceId {
		t.Errorf("instance %s", *again.InstanceId)
	}
	if code := u.run(createBastion("--instance-type", "m5.large")...); code != cli.Failed || !strings.Contains(u.err.String(), "which cannot be changed") {
		t.Errorf("another type: exit code %d\n%s", code, u.err.String())
	}
	u.must(destroyBastion()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
	u.must(destroyBastion()...)
	u.must(createBastion()...)
	u.checkBastion()
}

func TestBastionIsDeletedWithTheNetworkAndTheRoles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a", "--output-file", u.infraJSON())...)
	u.must(u.createIAM()...)
	u.must(createBastion()...)
	if code := u.run("leftovers", "aws", "--infra-id", "demo-x7k2p"); code != cli.Remaining || strings.Count(u.out.String(), "demo-x7k2p-bastion") != 6 {
		t.Errorf("exit code %d; leftovers:\n%s", code, u.out.String())
	}
	u.must(destroyIAM()...)
	u.must(destroyInfra()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}

// The agent on the instance calls AWS, or there is no session.
func TestBastionNeedsAWayToSessionManager(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.givenNetwork()
	e, made := ec2.NewFromConfig(emulator.Config(u.account)), u.made()
	tables, err := e.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{{Name: aws.String("association.subnet-id"), Values: []string{made.Zones[0].SubnetID}}}})
	u.try(err)
	_, err = e.DeleteRoute(t.Context(), &ec2.DeleteRouteInput{RouteTableId: tables.RouteTables[0].RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0")})
	u.try(err)
	if code := u.run(createBastion()...); code != cli.Failed || len(u.writes) > 0 ||
		!strings.Contains(u.err.String(), "no interface endpoint of com.amazonaws.us-east-1.ssm and com.amazonaws.us-east-1.ssmmessages") || !strings.Contains(u.err.String(), "--subnet-id") {
		t.Errorf("exit code %d, writes %v\n%s", code, u.writes, u.err.String())
	}
	// The other zone still has its route.
	u.must(createBastion("--subnet-id", made.Zones[1].SubnetID)...)
	u.must(destroyBastion()...)
	for _, service := range []string{"ssm", "ssmmessages"} {
		_, err := e.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{
			VpcId: aws.String(made.VPCID), ServiceName: aws.String("com.amazonaws.us-east-1." + service), VpcEndpointType: ec2types.VpcEndpointTypeInterface, SubnetIds: []string{made.Zones[0].SubnetID},
		})
		u.try(err)
	}
	u.settle()
	u.must(createBastion()...)
	u.checkBastion()
}

func TestBastionInAPublicSubnetHasAnAddressAndNoOpenPort(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.givenNetwork("--public-only")
	u.must(createBastion()...)
	if instance := u.checkBastion(); instance.PublicIpAddress == nil {
		t.Error("the instance has no way to the internet")
	}
}

func TestBastionOfAHostedCluster(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.givenNetwork()
	u.managementObjects("demo-x7k2p", u.made())
	u.must("create", "bastion", "aws", "demo")
	u.checkBastion()
	if !strings.Contains(u.out.String(), `"host":["api.demo.hypershift.local"],"portNumber":["7443"]`) {
		t.Errorf("the address of the API server is not that of the HostedCluster:\n%s", u.out.String())
	}
	u.must("destroy", "bastion", "aws", "demo", "--yes")
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
	for _, args := range []string{"create bastion aws", "create bastion aws --infra-id a --arch s390x", "create bastion aws --infra-id a --subnet-id b", "destroy bastion aws --yes"} {
		if code := u.run(strings.Fields(args)...); code != cli.Usage || len(u.writes)+u.reads > 0 {
			t.Errorf("%s: exit code %d, %d calls\n%s", args, code, len(u.writes)+u.reads, u.err.String())
		}
	}
	if code := u.run("create", "bastion", "aws", "--infra-id", "other-x7k2p"); code != cli.Failed || !strings.Contains(u.err.String(), "no subnet in us-east-1 has the tag") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
}

// AWS recognizes the second launch by its token.
func TestBastionWhoseLaunchHasNoAnswerIsNotLaunchedTwice(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.givenNetwork()
	u.try(emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.AnswerLost, Action: "RunInstances", Account: u.account}))
	u.must(createBastion()...)
	u.bastion()
}

// The name of a group is unique in its VPC.
func TestGroupOfAnotherOwnerIsNotUsed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.givenNetwork()
	_, err := ec2.NewFromConfig(emulator.Config(u.account)).CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("demo-x7k2p-bastion"), Description: aws.String("of another"), VpcId: aws.String(u.made().VPCID),
	})
	u.try(err)
	if code := u.run(createBastion()...); code != cli.Failed || !strings.Contains(u.err.String(), "a resource of this name exists") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if got := kinds(u.owned()); got["instance"] > 0 {
		t.Errorf("there are %v", got)
	}
	if code := u.run(destroyBastion()...); code != cli.Done {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if left := u.owned(); fmt.Sprint(kinds(left)) != "map[security-group:1]" || !slices.ContainsFunc(left, func(l string) bool { return strings.Contains(l, "demo-x7k2p-bastion") }) {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}
