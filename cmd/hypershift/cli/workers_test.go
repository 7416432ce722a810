package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
)

// workerIngress describes the rules of the security group for nodes.
func (u *user) workerIngress() (open []string) {
	u.t.Helper()
	found, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeSecurityGroups(u.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{u.made().SecurityGroupID}})
	u.try(err)
	for _, p := range found.SecurityGroups[0].IpPermissions {
		for _, r := range p.IpRanges {
			open = append(open, *p.IpProtocol+" from "+*r.CidrIp)
		}
		for _, g := range p.UserIdGroupPairs {
			open = append(open, *p.IpProtocol+" from "+*g.GroupId)
		}
	}
	slices.Sort(open)
	return open
}

// changeWorkerGroup changes attributes that create infra repairs.
func (u *user) changeWorkerGroup() {
	u.t.Helper()
	ctx, e, group := u.t.Context(), ec2.NewFromConfig(emulator.Config(u.account)), aws.String(u.made().SecurityGroupID)
	_, err := e.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: group, IpPermissions: []ec2types.IpPermission{
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("10.0.0.0/16")}}},
	}})
	u.try(err)
	_, err = e.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{*group}, Tags: []ec2types.Tag{{Key: aws.String("hypershift.openshift.io/source")}}})
	u.try(err)
}

// The group contains the rules of the operator's group for workers, and keeps the rules of load balancers.
func TestSecurityGroupForWorkers(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	create := createInfra("us-east-1a", "--worker-security-group", "--output-file", u.infraJSON())
	u.must(create...)
	group := u.made().SecurityGroupID
	want := []string{"-1 from " + group, "icmp from 10.0.0.0/16", "tcp from 10.0.0.0/16"}
	if got := u.workerIngress(); !slices.Equal(got, want) {
		t.Errorf("rules %v, want %v", got, want)
	}
	u.must(create...)
	u.must(append(slices.Clone(create), "--plan")...)
	if len(u.writes) > 0 {
		t.Errorf("the second run has written: %v", u.writes)
	}
	u.changeWorkerGroup()
	_, err := ec2.NewFromConfig(emulator.Config(u.account)).AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: aws.String(group), IpPermissions: []ec2types.IpPermission{{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(30080), ToPort: aws.Int32(30080),
			IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0"), Description: aws.String("kubernetes.io/rule/nlb/client=a")}},
		}},
	})
	u.try(err)
	if code := u.run(append(slices.Clone(create), "--plan")...); code != cli.Changes || !strings.Contains(u.out.String(), "-> all from the group, icmp -1--1 from 10.0.0.0/16, tcp 22-22 from 10.0.0.0/16") {
		t.Errorf("exit code %d\n%s", code, u.out.String())
	}
	u.must(create...)
	if got := u.workerIngress(); !slices.Equal(got, append(want[:2:2], "tcp from 0.0.0.0/0", want[2])) || u.made().SecurityGroupID != group || len(u.writes) != 2 {
		t.Errorf("rules %v after %v", got, u.writes)
	}
	u.must(destroyInfra()...)
	u.nothingIsLeft()
}

// poolsOfASecurityGroup is part of TestClusterCommands.
func poolsOfASecurityGroup(t *testing.T, m *managementCluster, u *user) {
	u.must(createInfra("us-east-1a,us-east-1b", "--worker-security-group", "--output-file", u.infraJSON())...)
	made := u.made()
	u.must("create", "cluster", "aws", "--name", "demo", "--endpoint-access", "Private", "--release-image", "example.com/release:1", "--infra-json", u.infraJSON(), "--zones", "us-east-1a")
	more := []string{"create", "nodepool", "aws", "--cluster-name", "demo", "--infra-json", u.infraJSON()}
	u.must(append(more, "--name", "more", "--zone", "us-east-1b")...)
	if u.reads > 0 {
		t.Errorf("the command has called AWS %d times", u.reads)
	}
	u.must(append(more, "--name", "other", "--zone", "us-east-1b", "--securitygroup-id", "sg-00000000000000000")...)
	for name, want := range map[string][2]string{
		"demo-us-east-1a": {made.Zones[0].SubnetID, made.SecurityGroupID},
		"more":            {made.Zones[1].SubnetID, made.SecurityGroupID},
		"other":           {made.Zones[1].SubnetID, "sg-00000000000000000"},
	} {
		np := &hyperv1.NodePool{}
		u.try(m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: name}, np))
		aws := np.Spec.Platform.AWS
		if len(aws.SecurityGroups) != 1 || *aws.SecurityGroups[0].ID != want[1] || *aws.Subnet.ID != want[0] {
			t.Errorf("%s has the groups %v and subnet %s, want %v", name, aws.SecurityGroups, *aws.Subnet.ID, want)
		}
	}
	if code := u.run(append(more, "--name", "wrong", "--zone", "us-east-1c")...); code != cli.Usage || !strings.Contains(u.err.String(), "no subnet in zone us-east-1c") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	foreign := write(t, `{"infraID": "other-x7k2p"}`)
	if code := u.run("create", "nodepool", "aws", "--cluster-name", "demo", "--name", "wrong", "--infra-json", foreign); code != cli.Usage || !strings.Contains(u.err.String(), "is of infra ID other-x7k2p") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	u.until(m.isObserved)
	u.must(destroyCluster("--yes")...)
	u.nothingIsLeft()
}
