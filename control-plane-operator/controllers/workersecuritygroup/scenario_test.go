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
)

const well = "True AsExpected: All is well"

// The group is made once, with everything in the call that makes it, and its id is published.
func TestSecurityGroupIsCreatedOnce(t *testing.T) {
	w := newTestEnv(t)
	w.runPasses(1)
	w.want(hyperv1.AWSDefaultSecurityGroupCreated, well)
	if id := w.published(); !strings.HasPrefix(id, "sg-") {
		t.Errorf("published %q", id)
	}
	total, what := w.calls()
	if total != 4 {
		t.Errorf("%d calls: %v", total, what)
	}
	out, err := w.customerEC2().DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{w.published()}})
	w.Must(err)
	tags := map[string]string{}
	for _, tag := range out.SecurityGroups[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	want := map[string]string{
		"Name": "demo-x-default-sg", "team": "blue", "kubernetes.io/cluster/demo-x": "owned",
		awsx.OwnerTag: string(w.hcp(t.Context()).UID), awsx.RoleTag: "default-worker",
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if record := w.hcp(t.Context()).Status.WorkerSecurityGroup; record == nil || record.Creating || !slices.Equal(record.TagKeys, []string{"team"}) {
		t.Errorf("recorded %+v", record)
	}
}

// Changes in AWS are repaired at the next resync; the rules of load balancers stay.
func TestDrift(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*testEnv, *string)
		stays string // the part of the change that is to stay, if any
	}{
		"the group loses a tag": {spoil: func(w *testEnv, id *string) {
			w.try(w.customerEC2().DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*id}, Tags: []types.Tag{{Key: aws.String("team")}}}))
		}},
		"the group lets everybody in": {spoil: func(w *testEnv, id *string) { w.authorize(id, open(22, "0.0.0.0/0", "for a moment")) }},
		"the group loses all its rules": {spoil: func(w *testEnv, id *string) {
			out, err := w.customerEC2().DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*id}})
			w.Must(err)
			w.try(w.customerEC2().RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: id, IpPermissions: out.SecurityGroups[0].IpPermissions}))
		}},
		"a load balancer is let in": {stays: "31234", spoil: func(w *testEnv, id *string) {
			w.authorize(id, open(31234, "0.0.0.0/0", "kubernetes.io/rule/nlb/client=a0123"))
		}},
		"the group is deleted": {spoil: func(w *testEnv, id *string) {
			w.try(w.customerEC2().DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: id}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.runPasses(1)
			before := w.group()
			id := w.published()
			c.spoil(w, &id)
			if slices.Equal(before, w.group()) {
				t.Fatal("nothing was spoiled")
			}
			w.runPasses(1)
			w.want(hyperv1.AWSDefaultSecurityGroupCreated, well)
			after := slices.DeleteFunc(w.group(), func(line string) bool { return c.stays != "" && strings.Contains(line, c.stays) })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("not put right (-before +after):\n%s", diff)
			}
			if stays := len(w.group()) > len(before); stays != (c.stays != "") {
				t.Errorf("stays: %v", w.group())
			}
			w.Must(w.delete(t.Context()))
			w.next = time.Second
			w.runPasses(2)
			if left := w.group(); len(left) > 0 || w.hcp(t.Context()) != nil {
				t.Errorf("not deleted after that: %v", left)
			}
		})
	}
}

func (w *testEnv) authorize(id *string, p types.IpPermission) {
	w.T.Helper()
	w.try(w.customerEC2().AuthorizeSecurityGroupIngress(w.T.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: id, IpPermissions: []types.IpPermission{p}}))
}

func open(port int32, network, description string) types.IpPermission {
	return types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []types.IpRange{{CidrIp: &network, Description: &description}}}
}

// A change of the cluster reaches the group without a read: its former state is known.
func TestChangesOfTheClusterReachTheGroup(t *testing.T) {
	w := newTestEnv(t)
	w.runPasses(1)
	w.calls()
	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "owner", Value: "me"}}
		hcp.Spec.Networking.MachineNetwork = []hyperv1.MachineNetworkEntry{{CIDR: "10.7.0.0/16"}}
	})
	w.next = time.Second
	w.runPasses(1)
	w.want(hyperv1.AWSDefaultSecurityGroupCreated, well)
	if text := strings.Join(w.group(), "\n"); strings.Contains(text, `10.0.0.0/16 "SSH"`) || !strings.Contains(text, `10.7.0.0/16 "SSH"`) || strings.Contains(text, "team") || !strings.Contains(text, "owner") {
		t.Errorf("not followed:\n%s", text)
	}
	if total, what := w.calls(); total != 4 || what["ec2:DescribeSecurityGroups"] != 0 {
		t.Errorf("%d calls: %v", total, what)
	}
	if keys := w.hcp(t.Context()).Status.WorkerSecurityGroup.TagKeys; !slices.Equal(keys, []string{"owner"}) {
		t.Errorf("recorded %v", keys)
	}
}

// The calls of a day at rest: one read every three quarters of an hour, and none where another controller lists the groups.
func TestCallsAtRest(t *testing.T) {
	w := newTestEnv(t)
	w.runPasses(1)
	w.calls()
	for end := w.Clock.Now().Add(24 * time.Hour); w.Clock.Now().Before(end); {
		w.runPasses(1)
	}
	if _, what := w.calls(); what["ec2:DescribeSecurityGroups"] > 40 || len(what) > 2 {
		t.Errorf("alone: %v", what)
	}

	groups := w.otherController()
	for end := w.Clock.Now().Add(24 * time.Hour); w.Clock.Now().Before(end); {
		groups.Invalidate(0)
		_, err := groups.List(t.Context())
		w.Must(err)
		w.calls()
		next := w.Clock.Now().Add(resync * 6 / 5)
		for w.Clock.Now().Add(w.next).Before(next) {
			w.runPasses(1)
		}
		if total, what := w.calls(); total > 0 {
			t.Fatalf("beside another controller: %v", what)
		}
		w.next -= next.Sub(w.Clock.Now())
		w.Clock.SetTime(next)
	}
}

// The namespace of the control plane is deleted by force: its resources in AWS stay,
// and the next control plane adopts them, whatever has changed in between.
func TestTheGroupOfAnEarlierControlPlaneIsAdopted(t *testing.T) {
	w := newTestEnv(t)
	w.runPasses(1)
	id := w.published()
	lost := w.hcp(t.Context())
	lost.Finalizers = nil
	w.Must(w.Admin().Update(t.Context(), lost))
	w.Must(w.delete(t.Context()))
	lost.ObjectMeta = metav1.ObjectMeta{Namespace: lost.Namespace, Name: lost.Name}
	lost.Status = hyperv1.HostedControlPlaneStatus{}
	lost.Spec.Networking.MachineNetwork = []hyperv1.MachineNetworkEntry{{CIDR: "10.7.0.0/16"}}
	w.Create(lost)
	w.next = time.Second
	w.runPasses(2)
	w.want(hyperv1.AWSDefaultSecurityGroupCreated, well)
	if w.published() != id {
		t.Errorf("published %q, the group was %s", w.published(), id)
	}
	if text := strings.Join(w.group(), "\n"); !strings.Contains(text, "10.7.0.0/16") || strings.Contains(text, `10.0.0.0/16 "SSH"`) {
		t.Errorf("not put right:\n%s", text)
	}
	w.Must(w.delete(t.Context()))
	w.next = time.Second
	w.runPasses(2)
	if left := w.group(); len(left) > 0 || w.hcp(t.Context()) != nil {
		t.Errorf("left: %v", left)
	}
}

func TestProblemsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*testEnv)
		want  string
	}{
		"no VPC is named": {
			func(w *testEnv) {
				w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.CloudProviderConfig = nil })
			},
			"False VPCNotNamed: the HostedCluster names no VPC for its workers: set platform.aws.cloudProviderConfig.vpc",
		},
		"a machine network that is none": {
			func(w *testEnv) {
				w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.MachineNetwork[0].CIDR = "here" })
			},
			`False InvalidPlatform: networking.machineNetwork "here" is not a network such as 10.0.0.0/16`,
		},
		"another group has the name": {
			func(w *testEnv) {
				w.try(w.customerEC2().CreateSecurityGroup(w.T.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("demo-x-default-sg"), Description: aws.String("mine"), VpcId: &w.vpc}))
			},
			"False SecurityGroupNameTaken: security group \"demo-x-default-sg\" exists in VPC and is not ours; delete or rename it",
		},
		"another cluster's group has the name": {
			func(w *testEnv) {
				var tags []types.Tag
				for k, v := range awsx.OwnedTags(nil, "another", role, "demo-y", "demo-x-default-sg") {
					tags = append(tags, types.Tag{Key: &k, Value: &v})
				}
				w.try(w.customerEC2().CreateSecurityGroup(w.T.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("demo-x-default-sg"), Description: aws.String("theirs"), VpcId: &w.vpc,
					TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: tags}}}))
			},
			"False SecurityGroupNameTaken: security group \"demo-x-default-sg\" exists in VPC and is not ours; delete or rename it",
		},
		"no permission": {
			func(w *testEnv) {
				w.AWS.Fault(fakeaws.Fault{Operation: "CreateSecurityGroup", Kind: fakeaws.Denied, Times: fakeaws.Forever, Role: "demo-cpo"})
			},
			"False AWSAccessDenied: creating security group demo-x-default-sg: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			c.spoil(w)
			w.runPasses(2)
			got := strings.ReplaceAll(w.conditionLine(hyperv1.AWSDefaultSecurityGroupCreated), w.vpc, "VPC")
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if w.published() != "" {
				t.Errorf("published %s", w.published())
			}
			w.Must(w.delete(t.Context()))
			w.next = time.Minute
			w.runPasses(3)
			if w.hcp(t.Context()) != nil {
				t.Error("the control plane does not go:", w.conditionLine(hyperv1.AWSDefaultSecurityGroupDeleted))
			}
		})
	}
}

// A group in the rules of other groups cannot be deleted. The condition names the
// other groups, and they are read less and less often.
func TestDeletionWaitsForUsers(t *testing.T) {
	w := newTestEnv(t)
	w.runPasses(1)
	id := w.published()
	db, err := w.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("database"), Description: aws.String("theirs"), VpcId: &w.vpc})
	w.Must(err)
	pair := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(5432), ToPort: aws.Int32(5432), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}}
	w.authorize(db.GroupId, pair)

	w.Must(w.delete(t.Context()))
	w.next = time.Second
	w.runPasses(1)
	w.want(hyperv1.AWSDefaultSecurityGroupDeleted, "False SecurityGroupInUse: security group "+id+" is still used by a rule of security group "+*db.GroupId+` "database"`)
	if w.next != 2*time.Second {
		t.Errorf("requeued after %s", w.next)
	}
	w.Clock.Step(time.Hour)
	w.runPasses(1)
	if w.next != 2*time.Minute {
		t.Errorf("requeued after %s", w.next)
	}

	w.try(w.customerEC2().RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: db.GroupId, IpPermissions: []types.IpPermission{pair}}))
	w.runPasses(1)
	if left := w.group(); len(left) > 0 || w.hcp(t.Context()) != nil {
		t.Errorf("left: %v", left)
	}
}

// A pause stops changes, and not the deletion.
func TestPausedClusterIsNotChanged(t *testing.T) {
	w := newTestEnv(t)
	w.runPasses(1)
	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.Networking.MachineNetwork = nil
	})
	before, writes := w.group(), w.Calls.Writes()
	w.next = resync * 2
	w.runPasses(2)
	if diff := cmp.Diff(before, w.group()); diff != "" || w.Calls.Writes() != writes {
		t.Errorf("changed while paused: %v\n%s", w.Calls.Log(writes), diff)
	}
	w.Must(w.delete(t.Context()))
	w.runPasses(1)
	if left := w.group(); len(left) > 0 || w.hcp(t.Context()) != nil {
		t.Errorf("left: %v", left)
	}
}

// A group of ours in another VPC, of another owner, or for something else is
// neither adopted nor deleted.
func TestGroupsOfOthersAreNotChanged(t *testing.T) {
	w := newTestEnv(t)
	for name, tags := range map[string]map[string]string{
		"of another cluster": {awsx.OwnerTag: "another", awsx.RoleTag: role},
		"of an endpoint":     {awsx.OwnerTag: string(w.hcp(t.Context()).UID), awsx.RoleTag: "private-router-endpoint"},
	} {
		var list []types.Tag
		for k, v := range tags {
			list = append(list, types.Tag{Key: &k, Value: &v})
		}
		w.try(w.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: &name, Description: aws.String("theirs"), VpcId: &w.vpc,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: list}}}))
	}
	before := w.AWS.Snapshot()
	w.runPasses(1)
	w.want(hyperv1.AWSDefaultSecurityGroupCreated, well)
	w.Must(w.delete(t.Context()))
	w.next = time.Second
	w.runPasses(2)
	if diff := cmp.Diff(before, w.AWS.Snapshot()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

// A deletion does not start with an old list: it would not show a group that was created since.
func TestDeletionListsAgainAfterTheLifetimeOfTheList(t *testing.T) {
	w := newTestEnv(t)
	empty := w.AWS.Snapshot()
	w.runPasses(1)
	var tags []types.Tag
	for k, v := range awsx.OwnedTags(nil, string(w.hcp(t.Context()).UID), role, "demo-x", "second") {
		tags = append(tags, types.Tag{Key: &k, Value: &v})
	}
	w.try(w.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("second"), Description: aws.String("second"), VpcId: &w.vpc,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: tags}}}))
	w.Must(w.delete(t.Context()))
	w.next = awsx.DeletionListTTL
	w.runPasses(2)
	if now := w.AWS.Snapshot(); now != empty || w.hcp(t.Context()) != nil {
		t.Errorf("left:\n%s", now)
	}
}
