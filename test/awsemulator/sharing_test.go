package awsemulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ram"
	ramtypes "github.com/aws/aws-sdk-go-v2/service/ram/types"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// share shares a subnet with an account.
func (a *account) share(t *testing.T, subnet, with string) (string, error) {
	t.Helper()
	made, err := a.ram.CreateResourceShare(t.Context(), &ram.CreateResourceShareInput{
		Name: aws.String("share"), Principals: []string{with}, ResourceArns: []string{"arn:aws:ec2:us-east-1:" + a.id + ":subnet/" + subnet},
		ClientToken: aws.String(subnet), Tags: []ramtypes.Tag{{Key: aws.String("owner"), Value: aws.String("a")}},
	})
	if err != nil {
		return "", err
	}
	return *made.ResourceShare.ResourceShareArn, nil
}

// sees returns the subnet as the account sees it, or nil.
func (a *account) sees(t *testing.T, subnet string) *types.Subnet {
	t.Helper()
	found, err := a.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: aws.String("subnet-id"), Values: []string{subnet}}}})
	must(t, err)
	if len(found.Subnets) == 0 {
		return nil
	}
	return &found.Subnets[0]
}

func TestASharedSubnetIsThatOfItsOwnerWithTagsOfItsUser(t *testing.T) {
	owner, user := newAccount(t), newAccount(t)
	must(t, emulator.Organize(t.Context(), true, owner.id, user.id))
	subnet := owner.subnet(t, "10.0.0.0/24", 3)
	tag := func(a *account, key string) error {
		_, err := a.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{subnet}, Tags: []types.Tag{{Key: aws.String(key), Value: aws.String("1")}}})
		return err
	}
	must(t, tag(owner, "of-owner"))
	refused(t, tag(user, "of-user"), "InvalidSubnetID.NotFound")
	refused(t, group(t, user, owner.vpc, nil, new(string))(), "InvalidVpcID.NotFound")

	slowly(t)
	share, err := owner.share(t, subnet, user.id)
	must(t, err)
	if again, err := owner.share(t, subnet, user.id); err != nil || again != share {
		t.Errorf("the same call again: %s, %v", again, err)
	}
	if user.sees(t, subnet) != nil {
		t.Error("the subnet is seen before it is shared")
	}
	instantly(t)
	seen := user.sees(t, subnet)
	if seen == nil || *seen.OwnerId != owner.id || *seen.VpcId != owner.vpc || len(seen.Tags) > 0 || *seen.AvailabilityZone != user.zones[3] || *seen.AvailabilityZoneId != "use1-az4" {
		t.Fatalf("the user sees %+v", seen)
	}
	must(t, tag(user, "of-user"))
	for who, a := range map[string]*account{"of-owner": owner, "of-user": user} {
		if tags := a.sees(t, subnet).Tags; len(tags) != 1 || *tags[0].Key != who {
			t.Errorf("%s: %v", who, tags)
		}
	}
	vpcs, err := user.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{owner.vpc}})
	if err != nil || *vpcs.Vpcs[0].OwnerId != owner.id {
		t.Errorf("the user sees %v, %v", vpcs, err)
	}

	// The user launches instances, and cannot change the subnet. The owner does not see the user's resources, and
	// cannot delete the resources that they use.
	made, err := user.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("a"), Description: aws.String("a"), VpcId: aws.String(owner.vpc)})
	must(t, err)
	run, err := user.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(subnet), SecurityGroupIds: []string{*made.GroupId},
	})
	must(t, err)
	if i := run.Instances[0]; *i.VpcId != owner.vpc || *i.Placement.AvailabilityZone != user.zones[3] {
		t.Errorf("the instance is in %s, %s", *i.VpcId, *i.Placement.AvailabilityZone)
	}
	_, err = user.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: aws.String(owner.vpc), CidrBlock: aws.String("10.0.9.0/24")})
	refused(t, err, "InvalidVpcID.NotFound")
	remove := func() error {
		_, err := owner.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: aws.String(subnet)})
		return err
	}
	refused(t, remove(), "DependencyViolation")
	_, err = user.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*run.Instances[0].InstanceId}})
	must(t, err)

	_, err = owner.ram.DeleteResourceShare(t.Context(), &ram.DeleteResourceShareInput{ResourceShareArn: aws.String(share)})
	must(t, err)
	if user.sees(t, subnet) != nil {
		t.Error("the subnet is seen after the deletion of its share")
	}
	_, err = user.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	must(t, err)
	must(t, remove())
	removeVPC := func() error {
		_, err := owner.ec2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: aws.String(owner.vpc)})
		return err
	}
	refused(t, removeVPC(), "DependencyViolation")
	must(t, deleteGroup(t, user, *made.GroupId)())
	must(t, removeVPC())
}

func TestSubnetsAreSharedWithinAnOrganizationOnly(t *testing.T) {
	owner, user := newAccount(t), newAccount(t)
	subnet := owner.subnet(t, "10.0.0.0/24", 0)
	_, err := owner.share(t, subnet, user.id)
	refused(t, err, "OperationNotPermittedException")
	must(t, emulator.Organize(t.Context(), true, owner.id, user.id))
	_, err = user.share(t, subnet, owner.id)
	refused(t, err, "UnknownResourceException")
	_, err = owner.share(t, subnet, user.id)
	must(t, err)
}

func TestAnAccountAcceptsAShareIfTheSharingOfItsOrganizationIsNotEnabled(t *testing.T) {
	owner, user := newAccount(t), newAccount(t)
	must(t, emulator.Organize(t.Context(), false, owner.id, user.id))
	subnet := owner.subnet(t, "10.0.0.0/24", 0)
	share, err := owner.share(t, subnet, user.id)
	must(t, err)
	if user.sees(t, subnet) != nil {
		t.Error("the subnet is seen before the invitation is accepted")
	}
	shares := func(a *account, of ramtypes.ResourceOwner) []ramtypes.ResourceShare {
		found, err := a.ram.GetResourceShares(t.Context(), &ram.GetResourceSharesInput{ResourceOwner: of, ResourceShareArns: []string{share}})
		must(t, err)
		return found.ResourceShares
	}
	if found := shares(user, ramtypes.ResourceOwnerOtherAccounts); len(found) > 0 {
		t.Errorf("shares %v", found)
	}
	invitations, err := user.ram.GetResourceShareInvitations(t.Context(), &ram.GetResourceShareInvitationsInput{ResourceShareArns: []string{share}})
	must(t, err)
	if len(invitations.ResourceShareInvitations) != 1 {
		t.Fatalf("invitations %v", invitations.ResourceShareInvitations)
	}
	accept := func() error {
		_, err := user.ram.AcceptResourceShareInvitation(t.Context(), &ram.AcceptResourceShareInvitationInput{
			ResourceShareInvitationArn: invitations.ResourceShareInvitations[0].ResourceShareInvitationArn,
		})
		return err
	}
	must(t, accept())
	refused(t, accept(), "ResourceShareInvitationAlreadyAcceptedException")
	if user.sees(t, subnet) == nil {
		t.Error("the subnet is not seen")
	}
	// The owner alone sees the tags of the share.
	if found := shares(user, ramtypes.ResourceOwnerOtherAccounts); len(found) != 1 || len(found[0].Tags) > 0 {
		t.Errorf("shares %v", found)
	}
	if found := shares(owner, ramtypes.ResourceOwnerSelf); len(found) != 1 || len(found[0].Tags) != 1 {
		t.Errorf("shares %v", found)
	}
}

func TestPoliciesOfResourceShares(t *testing.T) {
	owner, user := newAccount(t), newAccount(t)
	must(t, emulator.Organize(t.Context(), true, owner.id, user.id))
	subnet := owner.subnet(t, "10.0.0.0/24", 0)
	role, err := emulator.Role(t.Context(), owner.id, "sharing", awsemulator.TrustRole("arn:aws:iam::"+owner.id+":root"))
	must(t, err)
	must(t, emulator.Permit(t.Context(), owner.id, "sharing", `{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Action":"ram:CreateResourceShare","Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/owner":"a"}}},
		{"Effect":"Allow","Action":"ram:DeleteResourceShare","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/owner":"a"}}}]}`))
	session := accountWith(t, owner.id, assume(t, owner, role))
	share, err := session.share(t, subnet, user.id)
	must(t, err)
	_, err = session.ram.CreateResourceShare(t.Context(), &ram.CreateResourceShareInput{Name: aws.String("b")})
	refused(t, err, "AccessDeniedException")
	remove := func() error {
		_, err := session.ram.DeleteResourceShare(t.Context(), &ram.DeleteResourceShareInput{ResourceShareArn: aws.String(share)})
		return err
	}
	_, err = owner.ram.UntagResource(t.Context(), &ram.UntagResourceInput{ResourceShareArn: aws.String(share), TagKeys: []string{"owner"}})
	must(t, err)
	refused(t, remove(), "AccessDeniedException")
	_, err = owner.ram.TagResource(t.Context(), &ram.TagResourceInput{ResourceShareArn: aws.String(share), Tags: []ramtypes.Tag{{Key: aws.String("owner"), Value: aws.String("a")}}})
	must(t, err)
	must(t, remove())
}
