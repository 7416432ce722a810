package workersecuritygroup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const well = "True AsExpected: All is well"

// The group is made once, with everything in the call that makes it, and its id is published.
func TestSecurityGroupIsCreatedOnce(t *testing.T) {
	e := newCustomerAccount(t)
	e.RunPasses(1)
	e.ExpectConditionText(hyperv1.AWSDefaultSecurityGroupCreated, well)
	if id := e.published(); !strings.HasPrefix(id, "sg-") {
		t.Errorf("published %q", id)
	}
	total, what := e.calls()
	if total != 4 {
		t.Errorf("%d calls: %v", total, what)
	}
	out, err := e.customerEC2().DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{e.published()}})
	e.Must(err)
	tags := map[string]string{}
	for _, tag := range out.SecurityGroups[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	want := map[string]string{
		"Name": "demo-x-default-sg", "team": "blue", "kubernetes.io/cluster/demo-x": "owned",
		awsx.OwnerTag: string(e.HCP().UID), awsx.RoleTag: "default-worker",
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if record := e.HCP().Status.WorkerSecurityGroup; record == nil || record.Creating || !slices.Equal(record.TagKeys, []string{"team"}) {
		t.Errorf("recorded %+v", record)
	}
}

// Changes in AWS are repaired at the next resync; the rules of load balancers stay.
func TestDrift(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*customerAccount, *string)
		stays string // the part of the change that is to stay, if any
	}{
		"the group loses a tag": {spoil: func(e *customerAccount, id *string) {
			e.try(e.customerEC2().DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*id}, Tags: []types.Tag{{Key: aws.String("team")}}}))
		}},
		"the group lets everybody in": {spoil: func(e *customerAccount, id *string) { e.authorize(id, open(22, "0.0.0.0/0", "for a moment")) }},
		"the group loses all its rules": {spoil: func(e *customerAccount, id *string) {
			out, err := e.customerEC2().DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*id}})
			e.Must(err)
			e.try(e.customerEC2().RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: id, IpPermissions: out.SecurityGroups[0].IpPermissions}))
		}},
		"a load balancer is let in": {stays: "31234", spoil: func(e *customerAccount, id *string) {
			e.authorize(id, open(31234, "0.0.0.0/0", "kubernetes.io/rule/nlb/client=a0123"))
		}},
		"the group is deleted": {spoil: func(e *customerAccount, id *string) {
			e.try(e.customerEC2().DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: id}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerAccount(t)
			e.RunPasses(1)
			before := e.group()
			id := e.published()
			c.spoil(e, &id)
			if slices.Equal(before, e.group()) {
				t.Fatal("nothing was spoiled")
			}
			e.RunPasses(1)
			e.ExpectConditionText(hyperv1.AWSDefaultSecurityGroupCreated, well)
			after := slices.DeleteFunc(e.group(), func(line string) bool { return c.stays != "" && strings.Contains(line, c.stays) })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("not put right (-before +after):\n%s", diff)
			}
			if stays := len(e.group()) > len(before); stays != (c.stays != "") {
				t.Errorf("stays: %v", e.group())
			}
			e.Delete(e.Object)
			e.RequeueAfter = time.Second
			e.RunPasses(2)
			if left := e.group(); len(left) > 0 || e.Exists(testenv.HostedControlPlane()) {
				t.Errorf("not deleted after that: %v", left)
			}
		})
	}
}

func (e *customerAccount) authorize(id *string, p types.IpPermission) {
	e.T.Helper()
	e.try(e.customerEC2().AuthorizeSecurityGroupIngress(e.T.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: id, IpPermissions: []types.IpPermission{p}}))
}

func open(port int32, network, description string) types.IpPermission {
	return types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []types.IpRange{{CidrIp: &network, Description: &description}}}
}

// A change of the cluster reaches the group without a read: its former state is known.
func TestChangesOfTheClusterReachTheGroup(t *testing.T) {
	e := newCustomerAccount(t)
	e.RunPasses(1)
	e.calls()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "owner", Value: "me"}}
		hcp.Spec.Networking.MachineNetwork = []hyperv1.MachineNetworkEntry{{CIDR: "10.7.0.0/16"}}
	})
	e.RequeueAfter = time.Second
	e.RunPasses(1)
	e.ExpectConditionText(hyperv1.AWSDefaultSecurityGroupCreated, well)
	if text := strings.Join(e.group(), "\n"); strings.Contains(text, `10.0.0.0/16 "SSH"`) || !strings.Contains(text, `10.7.0.0/16 "SSH"`) || strings.Contains(text, "team") || !strings.Contains(text, "owner") {
		t.Errorf("not followed:\n%s", text)
	}
	if total, what := e.calls(); total != 4 || what["ec2:DescribeSecurityGroups"] != 0 {
		t.Errorf("%d calls: %v", total, what)
	}
	if keys := e.HCP().Status.WorkerSecurityGroup.TagKeys; !slices.Equal(keys, []string{"owner"}) {
		t.Errorf("recorded %v", keys)
	}
}

// The calls of a day at rest: one read every three quarters of an hour, and none where another controller lists the groups.
func TestCallsAtRest(t *testing.T) {
	e := newCustomerAccount(t)
	e.RunPasses(1)
	e.calls()
	for end := e.Clock.Now().Add(24 * time.Hour); e.Clock.Now().Before(end); {
		e.RunPasses(1)
	}
	if _, what := e.calls(); what["ec2:DescribeSecurityGroups"] > 40 || len(what) > 2 {
		t.Errorf("alone: %v", what)
	}

	groups := e.otherController()
	for end := e.Clock.Now().Add(24 * time.Hour); e.Clock.Now().Before(end); {
		groups.Invalidate(0)
		_, err := groups.List(t.Context())
		e.Must(err)
		e.calls()
		next := e.Clock.Now().Add(resync * 6 / 5)
		for e.Clock.Now().Add(e.RequeueAfter).Before(next) {
			e.RunPasses(1)
		}
		if total, what := e.calls(); total > 0 {
			t.Fatalf("beside another controller: %v", what)
		}
		e.RequeueAfter -= next.Sub(e.Clock.Now())
		e.Clock.SetTime(next)
	}
}

// The namespace of the control plane is deleted by force: its resources in AWS stay,
// and the next control plane adopts them, whatever has changed in between.
func TestTheGroupOfAnEarlierControlPlaneIsAdopted(t *testing.T) {
	e := newCustomerAccount(t)
	e.RunPasses(1)
	id := e.published()
	lost := e.HCP()
	lost.Finalizers = nil
	e.Update(lost)
	e.Delete(e.Object)
	lost.ObjectMeta = metav1.ObjectMeta{Namespace: lost.Namespace, Name: lost.Name}
	lost.Status = hyperv1.HostedControlPlaneStatus{}
	lost.Spec.Networking.MachineNetwork = []hyperv1.MachineNetworkEntry{{CIDR: "10.7.0.0/16"}}
	e.Create(lost)
	e.RequeueAfter = time.Second
	e.RunPasses(2)
	e.ExpectConditionText(hyperv1.AWSDefaultSecurityGroupCreated, well)
	if e.published() != id {
		t.Errorf("published %q, the group was %s", e.published(), id)
	}
	if text := strings.Join(e.group(), "\n"); !strings.Contains(text, "10.7.0.0/16") || strings.Contains(text, `10.0.0.0/16 "SSH"`) {
		t.Errorf("not put right:\n%s", text)
	}
	e.Delete(e.Object)
	e.RequeueAfter = time.Second
	e.RunPasses(2)
	if left := e.group(); len(left) > 0 || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left: %v", left)
	}
}

func TestProblemsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*customerAccount)
		want  string
	}{
		"no VPC is named": {
			func(e *customerAccount) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.CloudProviderConfig = nil })
			},
			"False VPCNotNamed: the HostedCluster names no VPC for its workers: set platform.aws.cloudProviderConfig.vpc",
		},
		"a machine network that is none": {
			func(e *customerAccount) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.MachineNetwork[0].CIDR = "here" })
			},
			`False InvalidPlatform: networking.machineNetwork "here" is not a network such as 10.0.0.0/16`,
		},
		"another group has the name": {
			func(e *customerAccount) {
				e.try(e.customerEC2().CreateSecurityGroup(e.T.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("demo-x-default-sg"), Description: aws.String("mine"), VpcId: &e.vpc}))
			},
			"False SecurityGroupNameTaken: security group \"demo-x-default-sg\" exists in VPC and is not ours; delete or rename it",
		},
		"another cluster's group has the name": {
			func(e *customerAccount) {
				var tags []types.Tag
				for k, v := range awsx.OwnedTags(nil, "another", role, "demo-y", "demo-x-default-sg") {
					tags = append(tags, types.Tag{Key: &k, Value: &v})
				}
				e.try(e.customerEC2().CreateSecurityGroup(e.T.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("demo-x-default-sg"), Description: aws.String("theirs"), VpcId: &e.vpc,
					TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: tags}}}))
			},
			"False SecurityGroupNameTaken: security group \"demo-x-default-sg\" exists in VPC and is not ours; delete or rename it",
		},
		"no permission": {
			func(e *customerAccount) {
				e.AWS.Fault(fakeaws.Fault{Operation: "CreateSecurityGroup", Kind: fakeaws.Denied, Times: fakeaws.Forever, Role: "demo-cpo"})
			},
			"False AWSAccessDenied: creating security group demo-x-default-sg: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerAccount(t)
			c.spoil(e)
			e.RunPasses(2)
			got := strings.ReplaceAll(e.ConditionText(hyperv1.AWSDefaultSecurityGroupCreated), e.vpc, "VPC")
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if e.published() != "" {
				t.Errorf("published %s", e.published())
			}
			e.Delete(e.Object)
			e.RequeueAfter = time.Minute
			e.RunPasses(3)
			if e.Exists(testenv.HostedControlPlane()) {
				t.Error("the control plane does not go:", e.ConditionText(hyperv1.AWSDefaultSecurityGroupDeleted))
			}
		})
	}
}

// A group in the rules of other groups cannot be deleted. The condition names the
// other groups, and they are read less and less often.
func TestDeletionWaitsForUsers(t *testing.T) {
	e := newCustomerAccount(t)
	e.RunPasses(1)
	id := e.published()
	db, err := e.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("database"), Description: aws.String("theirs"), VpcId: &e.vpc})
	e.Must(err)
	pair := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(5432), ToPort: aws.Int32(5432), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}}
	e.authorize(db.GroupId, pair)

	e.Delete(e.Object)
	e.RequeueAfter = time.Second
	e.RunPasses(1)
	e.ExpectConditionText(hyperv1.AWSDefaultSecurityGroupDeleted, "False SecurityGroupInUse: security group "+id+" is still used by a rule of security group "+*db.GroupId+` "database"`)
	if e.RequeueAfter != 2*time.Second {
		t.Errorf("requeued after %s", e.RequeueAfter)
	}
	e.Clock.Step(time.Hour)
	e.RunPasses(1)
	if e.RequeueAfter != 2*time.Minute {
		t.Errorf("requeued after %s", e.RequeueAfter)
	}

	e.try(e.customerEC2().RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: db.GroupId, IpPermissions: []types.IpPermission{pair}}))
	e.RunPasses(1)
	if left := e.group(); len(left) > 0 || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left: %v", left)
	}
}

// A pause stops changes, and not the deletion.
func TestPausedClusterIsNotChanged(t *testing.T) {
	e := newCustomerAccount(t)
	e.RunPasses(1)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.Networking.MachineNetwork = nil
	})
	before, writes := e.group(), e.Calls.Writes()
	e.RequeueAfter = resync * 2
	e.RunPasses(2)
	if diff := cmp.Diff(before, e.group()); diff != "" || e.Calls.Writes() != writes {
		t.Errorf("changed while paused: %v\n%s", e.Calls.Log(writes), diff)
	}
	e.Delete(e.Object)
	e.RunPasses(1)
	if left := e.group(); len(left) > 0 || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left: %v", left)
	}
}

// A group of ours in another VPC, of another owner, or for something else is
// neither adopted nor deleted.
func TestGroupsOfOthersAreNotChanged(t *testing.T) {
	e := newCustomerAccount(t)
	for name, tags := range map[string]map[string]string{
		"of another cluster": {awsx.OwnerTag: "another", awsx.RoleTag: role},
		"of an endpoint":     {awsx.OwnerTag: string(e.HCP().UID), awsx.RoleTag: "private-router-endpoint"},
	} {
		var list []types.Tag
		for k, v := range tags {
			list = append(list, types.Tag{Key: &k, Value: &v})
		}
		e.try(e.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: &name, Description: aws.String("theirs"), VpcId: &e.vpc,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: list}}}))
	}
	before := e.AWS.Snapshot()
	e.RunPasses(1)
	e.ExpectConditionText(hyperv1.AWSDefaultSecurityGroupCreated, well)
	e.Delete(e.Object)
	e.RequeueAfter = time.Second
	e.RunPasses(2)
	if diff := cmp.Diff(before, e.AWS.Snapshot()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

// A deletion does not start with an old list: it would not show a group that was created since.
func TestDeletionListsAgainAfterTheLifetimeOfTheList(t *testing.T) {
	e := newCustomerAccount(t)
	empty := e.AWS.Snapshot()
	e.RunPasses(1)
	var tags []types.Tag
	for k, v := range awsx.OwnedTags(nil, string(e.HCP().UID), role, "demo-x", "second") {
		tags = append(tags, types.Tag{Key: &k, Value: &v})
	}
	e.try(e.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("second"), Description: aws.String("second"), VpcId: &e.vpc,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: tags}}}))
	e.Delete(e.Object)
	e.RequeueAfter = awsx.DeletionListTTL
	e.RunPasses(2)
	if now := e.AWS.Snapshot(); now != empty || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left:\n%s", now)
	}
}
