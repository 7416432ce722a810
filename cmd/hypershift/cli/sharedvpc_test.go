package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ram"
	ramtypes "github.com/aws/aws-sdk-go-v2/service/ram/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// sharesVPC gives the user an account for a shared VPC, in the same organization. It returns the flags for it.
func (u *user) sharesVPC(sharing bool) []string {
	u.t.Helper()
	u.vpcOwner = emulator.Account(u.t)
	u.try(emulator.Organize(u.t.Context(), sharing, u.account, u.vpcOwner))
	u.try(emulator.Given(u.t.Context(), u.vpcOwner, func() error {
		_, err := emulator.Role(u.t.Context(), u.vpcOwner, "administrator", awsemulator.TrustRole("arn:aws:iam::"+u.account+":root"))
		return err
	}))
	return u.sharedVPCFlags()
}

func (u *user) sharedVPCFlags() []string {
	return []string{"--vpc-owner-role-arn", "arn:aws:iam::" + u.vpcOwner + ":role/administrator"}
}

// The operators of the cluster assume two roles in the account of a shared VPC.
func TestRolesInTheAccountOfASharedVPC(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	ofOwner := u.sharesVPC(true)
	u.try(os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p", "vpcID": "vpc-1", "publicZoneID": "Z1", "privateZoneID": "Z2", "localZoneID": "Z3"}`), 0o600))
	create := u.createIAM(ofOwner...)
	u.must(create...)
	var made clusteriam.Output
	u.try(json.Unmarshal(u.out.Bytes(), &made))
	u.must(create...)
	if len(u.writes) > 0 {
		t.Errorf("the second run has written: %v", u.writes)
	}
	if there := u.ownedBy(u.vpcOwner); len(there) != 2 {
		t.Errorf("in the account of the VPC: %v", there)
	}
	o := awsiam.NewFromConfig(emulator.Config(u.vpcOwner))
	for name, arn := range map[string]string{"demo-x7k2p-shared-vpc-route53": made.SharedIngressRoleARN, "demo-x7k2p-shared-vpc-endpoint": made.SharedControlPlaneRoleARN} {
		role, err := o.GetRole(t.Context(), &awsiam.GetRoleInput{RoleName: aws.String(name)})
		u.try(err)
		if *role.Role.Arn != arn || !strings.Contains(decode(t, *role.Role.AssumeRolePolicyDocument), made.Roles.ControlPlaneOperatorARN) {
			t.Errorf("%s is %s and trusts %s", arn, *role.Role.Arn, *role.Role.AssumeRolePolicyDocument)
		}
		operator := strings.TrimPrefix(made.Roles.ControlPlaneOperatorARN, "arn:aws:iam::"+u.account+":role/")
		policy, err := awsiam.NewFromConfig(emulator.Config(u.account)).GetRolePolicy(t.Context(), &awsiam.GetRolePolicyInput{
			RoleName: aws.String(operator), PolicyName: aws.String("demo-x7k2p-control-plane-operator-assume"),
		})
		u.try(err)
		if !strings.Contains(decode(t, *policy.PolicyDocument), `"`+arn+`"`) {
			t.Errorf("the control-plane-operator may not assume %s: %s", arn, *policy.PolicyDocument)
		}
	}
	u.must(destroyIAM(ofOwner...)...)
	u.nothingIsLeft()
}

// The account of the cluster gets the subnets, with the tags for load balancers, whether or not AWS sends an invitation.
func TestNetworkOfASharedVPC(t *testing.T) {
	t.Parallel()
	for name, sharing := range map[string]bool{"sharing in the organization is enabled": true, "the share needs an invitation": false} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t) // this account owns the public zone
			shared := u.sharesVPC(sharing)
			create := createInfra("us-east-1b,us-east-1a", append(shared, "--output-file", u.infraJSON())...)
			plan := append(slices.Clone(create), "--plan")
			if code := u.run(plan...); code != cli.Changes || len(u.writes) > 0 {
				t.Errorf("exit code %d, writes %v\n%s", code, u.writes, u.err.String())
			}
			for _, want := range []string{
				"+ Resource share demo-x7k2p-share", "account " + u.account, "+ Acceptance of the resource share",
				"+ Subnet in the account of the cluster demo-x7k2p-private-us-east-1b",
			} {
				if !strings.Contains(u.out.String(), want) {
					t.Errorf("the plan does not contain %q:\n%s", want, u.out.String())
				}
			}
			u.must(create...)
			if got := slices.Contains(u.writes, "AcceptResourceShareInvitation"); got == sharing {
				t.Errorf("an invitation was accepted: %t", got)
			}
			made := u.made()
			if made.VPCCreatorAccountID != u.vpcOwner || made.ClusterAccountID != u.account || made.PublicZoneID == "" {
				t.Errorf("result %+v", made)
			}
			there, here := kinds(u.ownedBy(u.vpcOwner)), u.ownedBy(u.account)
			if there["vpc"] != 1 || there["subnet"] != 4 || there["hosted-zone"] != 2 || there["resource-share"] != 1 || len(here) > 0 {
				t.Errorf("in the account of the VPC: %v; in that of the cluster: %v", there, here)
			}
			checkSharedSubnets(u)

			u.must(create...)
			if len(u.writes) > 0 {
				t.Errorf("the second run has written: %v", u.writes)
			}
			u.must(plan...)
			u.try(os.RemoveAll(u.stateDir()))
			u.must(create...)
			if len(u.writes) > 0 {
				t.Errorf("without its state the command has written: %v", u.writes)
			}

			u.changeSharing()
			if code := u.run(plan...); code != cli.Changes || !strings.Contains(u.out.String(), "1 to create, 2 to update, 0 to delete") {
				t.Errorf("exit code %d\n%s", code, u.out.String())
			}
			u.must(create...)
			if want := []string{"AssociateResourceShare", "CreateTags", "TagResource"}; !slices.Equal(slices.Sorted(slices.Values(u.writes)), want) {
				t.Errorf("repaired by %v", u.writes)
			}
			checkSharedSubnets(u)
			r := ram.NewFromConfig(emulator.Config(u.vpcOwner))
			_, err := r.DeleteResourceShare(t.Context(), &ram.DeleteResourceShareInput{ResourceShareArn: u.share().ResourceShareArn})
			u.try(err)
			u.must(create...)
			checkSharedSubnets(u)
			u.must(plan...)

			destroy := destroyInfra(shared...)
			if code := u.run(append(slices.Clone(destroy), "--plan")...); code != cli.Changes || !strings.Contains(u.out.String(), "- Resource share demo-x7k2p-share") {
				t.Errorf("exit code %d\n%s", code, u.out.String())
			}
			u.must(destroy...)
			u.nothingIsLeft()
			u.must(destroy...)
		})
	}
}

// share returns the resource share of the user.
func (u *user) share() ramtypes.ResourceShare {
	u.t.Helper()
	shares, err := ram.NewFromConfig(emulator.Config(u.vpcOwner)).GetResourceShares(u.t.Context(), &ram.GetResourceSharesInput{
		ResourceOwner: ramtypes.ResourceOwnerSelf, ResourceShareStatus: ramtypes.ResourceShareStatusActive,
	})
	u.try(err)
	if len(shares.ResourceShares) != 1 {
		u.t.Fatalf("%d resource shares", len(shares.ResourceShares))
	}
	return shares.ResourceShares[0]
}

// sharedSubnets returns the subnets that the account of the cluster sees in the VPC.
func (u *user) sharedSubnets() []ec2types.Subnet {
	u.t.Helper()
	found, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeSubnets(u.t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{u.made().VPCID}}},
	})
	u.try(err)
	return found.Subnets
}

// checkSharedSubnets compares names, tags and zones of the subnets in the account of the cluster with the result.
func checkSharedSubnets(u *user) {
	u.t.Helper()
	ids := map[string]string{}
	for _, s := range u.sharedSubnets() {
		tags := map[string]string{}
		for _, t := range s.Tags {
			tags[*t.Key] = *t.Value
		}
		zone := *s.AvailabilityZone
		role, name := "kubernetes.io/role/elb", "demo-x7k2p-public-"+zone
		if tags["karpenter.sh/discovery"] == "demo-x7k2p" {
			role, name = "kubernetes.io/role/internal-elb", "demo-x7k2p-private-"+zone
			ids[zone] = *s.SubnetId
		}
		if *s.OwnerId != u.vpcOwner || tags[role] != "1" || tags["Name"] != name || tags["kubernetes.io/cluster/demo-x7k2p"] != "owned" {
			u.t.Errorf("subnet %s in %s of %s with %v", *s.SubnetId, zone, *s.OwnerId, tags)
		}
	}
	made := map[string]string{}
	for _, zone := range u.made().Zones {
		made[zone.Name] = zone.SubnetID
	}
	if fmt.Sprint(ids) != fmt.Sprint(made) {
		u.t.Errorf("the account of the cluster sees %v, and the result has %v", ids, made)
	}
}

// changeSharing changes attributes of a share that create infra repairs.
func (u *user) changeSharing() {
	u.t.Helper()
	ctx, r := u.t.Context(), ram.NewFromConfig(emulator.Config(u.vpcOwner))
	subnets := u.sharedSubnets()
	// One subnet loses a tag, and another one the share.
	_, err := ec2.NewFromConfig(emulator.Config(u.account)).DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{*subnets[0].SubnetId}, Tags: []ec2types.Tag{{Key: aws.String("Name")}}})
	u.try(err)
	share := u.share()
	_, err = r.UntagResource(ctx, &ram.UntagResourceInput{ResourceShareArn: share.ResourceShareArn, TagKeys: []string{"hypershift.openshift.io/source"}})
	u.try(err)
	_, err = r.DisassociateResourceShare(ctx, &ram.DisassociateResourceShareInput{ResourceShareArn: share.ResourceShareArn, ResourceArns: []string{*subnets[len(subnets)-1].SubnetArn}})
	u.try(err)
}

// The cluster's resources in its own account use the subnets, and are deleted first.
func TestDestroyOfASharedVPCDeletesInBothAccounts(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	shared := u.sharesVPC(true)
	u.must(createInfra("us-east-1a", append(shared, "--worker-security-group", "--output-file", u.infraJSON())...)...)
	made := u.made()
	tags := func(kind ec2types.ResourceType) []ec2types.TagSpecification {
		return []ec2types.TagSpecification{{ResourceType: kind, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/demo-x7k2p"), Value: aws.String("owned")}}}}
	}
	_, err := ec2.NewFromConfig(emulator.Config(u.account)).RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
		SubnetId: aws.String(made.Zones[0].SubnetID), SecurityGroupIds: []string{made.SecurityGroupID}, TagSpecifications: tags(ec2types.ResourceTypeInstance),
	})
	u.try(err)
	// Without the flags, the command does not touch the subnets of the other account.
	u.must(append([]string{"leftovers", "aws"}, "--output", "json")...)
	if code := u.run(destroyInfra("--plan", "--state-file", t.TempDir()+"/state")...); code != cli.Changes || strings.Contains(u.out.String(), "- Subnet") {
		t.Errorf("exit code %d\n%s", code, u.out.String())
	}
	u.must(destroyInfra(shared...)...)
	u.nothingIsLeft()
}

func TestSharedVPCOutsideOfTheOrganization(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	shared := u.sharesVPC(true)
	u.try(emulator.Organize(t.Context(), true, u.vpcOwner)) // alone
	if code := u.run(createInfra("us-east-1a", shared...)...); code != cli.Failed || !strings.Contains(u.err.String(), "within an organization only") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	u.must(destroyInfra(shared...)...)
	u.nothingIsLeft()
}

func TestOwnerOfASharedVPCInTheAccountOfTheCluster(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	own := []string{"--vpc-owner-role-arn", u.role("owner", "")}
	u.try(os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p", "vpcID": "vpc-1", "publicZoneID": "Z1", "privateZoneID": "Z2", "localZoneID": "Z3"}`), 0o600))
	for _, args := range [][]string{createInfra("us-east-1a", own...), u.createIAM(own...)} {
		if code := u.run(args...); code != cli.Usage || len(u.writes) > 0 || !strings.Contains(u.err.String(), "which is that of the cluster") {
			t.Errorf("exit code %d, writes %v\n%s", code, u.writes, u.err.String())
		}
	}
}

// clusterInASharedVPC is part of TestClusterCommands.
func clusterInASharedVPC(t *testing.T, m *managementCluster, u *user) {
	shared := u.sharesVPC(false)
	create := createCluster(append(shared, "--worker-security-group")...)
	if code := u.run(append(slices.Clone(create), "--plan")...); code != cli.Changes || len(u.writes) > 0 {
		t.Fatalf("create --plan: exit code %d, writes %v\n%s", code, u.writes, u.err.String())
	}
	for _, want := range []string{"+ Resource share demo-", "+ Role demo-", "+ HostedCluster clusters/demo"} {
		if !strings.Contains(u.out.String(), want) {
			t.Errorf("the plan does not contain %q:\n%s", want, u.out.String())
		}
	}
	u.dieAt = call{n: 30}
	if code := u.run(create...); code == cli.Done {
		t.Fatal("the command has not died")
	}
	u.resurrect()
	// The record contains the account, because there is no HostedCluster yet.
	if code := u.run(destroyCluster("--yes")...); code != cli.Usage || !strings.Contains(u.err.String(), "belongs to account "+u.vpcOwner) {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	u.must(create...)
	u.must(create...)
	if len(u.writes) > 0 {
		t.Errorf("a second run has called %v", u.writes)
	}
	hc := &hyperv1.HostedCluster{}
	u.try(m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc))
	platform := hc.Spec.Platform.AWS
	if s := platform.SharedVPC; s == nil || s.LocalZoneID == "" ||
		string(s.RolesRef.ControlPlaneARN) != "arn:aws:iam::"+u.vpcOwner+":role/"+hc.Spec.InfraID+"-shared-vpc-endpoint" ||
		string(s.RolesRef.IngressARN) != "arn:aws:iam::"+u.vpcOwner+":role/"+hc.Spec.InfraID+"-shared-vpc-route53" {
		t.Errorf("sharedVPC %+v", s)
	}
	groups, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{platform.CloudProviderConfig.VPC}}},
	})
	u.try(err)
	np := &hyperv1.NodePool{}
	u.try(m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo-us-east-1a"}, np))
	if got := np.Spec.Platform.AWS.SecurityGroups; len(groups.SecurityGroups) != 1 || len(got) != 1 || *got[0].ID != *groups.SecurityGroups[0].GroupId {
		t.Errorf("the node pool has the groups %v, and the account %v", got, groups.SecurityGroups)
	}
	// The zone of the pool is the subnet's zone in the cluster's account.
	subnets, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{*np.Spec.Platform.AWS.Subnet.ID}})
	u.try(err)
	if zone := *subnets.Subnets[0].AvailabilityZone; zone != "us-east-1a" {
		t.Errorf("the nodes of us-east-1a are in %s", zone)
	}
	u.until(m.isObserved)

	own := destroyCluster("--yes")
	other := emulator.Account(t)
	stranger, err := emulator.Role(t.Context(), other, "administrator", awsemulator.TrustRole("arn:aws:iam::"+u.account+":root"))
	u.try(err)
	for want, args := range map[string][]string{
		"belongs to account " + u.vpcOwner + ": pass --vpc-owner-role-arn": own,
		"is of account " + other:       append(slices.Clone(own), "--vpc-owner-role-arn", stranger),
		"which is that of the cluster": append(slices.Clone(own), "--vpc-owner-role-arn", u.role("owner", "")),
	} {
		if code := u.run(args...); code == cli.Done || len(u.writes) > 0 || !strings.Contains(u.err.String(), want) {
			t.Errorf("exit code %d, writes %v, want %q\n%s", code, u.writes, want, u.err.String())
		}
	}
	destroy := append(own, shared...)
	if code := u.run(append(slices.Clone(destroy), "--plan")...); code != cli.Changes || len(u.writes) > 0 || !strings.Contains(u.out.String(), "- Resource share demo-") {
		t.Errorf("destroy --plan: exit code %d, writes %v\n%s", code, u.writes, u.out.String())
	}
	u.dieAt = call{n: 25}
	if code := u.run(destroy...); code == cli.Done {
		t.Fatal("the command has not died")
	}
	u.resurrect()
	u.try(os.RemoveAll(u.stateDir())) // another machine continues
	u.must(destroy...)
	u.nothingIsLeft()
	if left := m.names(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
