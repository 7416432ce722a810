package awsprivatelink

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// Changes in AWS are repaired at the next resync.
func TestDrift(t *testing.T) {
	for name, spoil := range map[string]func(*testEnv, *hyperv1.AWSEndpointService){
		"the endpoint is deleted": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.try(w.customerEC2().DeleteVpcEndpoints(w.T.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{es.Status.EndpointID}}))
		},
		"the endpoint fails": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.theirs.FailEndpoint(region, es.Status.EndpointID, "no more addresses")
		},
		"the connection is rejected": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			services, err := w.ho().DescribeVpcEndpointServiceConfigurations(w.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
			w.Must(err)
			w.try(w.ho().RejectVpcEndpointConnections(w.T.Context(), &ec2.RejectVpcEndpointConnectionsInput{
				ServiceId: services.ServiceConfigurations[0].ServiceId, VpcEndpointIds: []string{es.Status.EndpointID}}))
		},
		"the endpoint loses a subnet": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.try(w.customerEC2().ModifyVpcEndpoint(w.T.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: &es.Status.EndpointID, RemoveSubnetIds: w.subnets[:1]}))
		},
		"the endpoint gains a security group": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			groups, err := w.customerEC2().DescribeSecurityGroups(w.T.Context(), &ec2.DescribeSecurityGroupsInput{
				Filters: []ec2types.Filter{{Name: aws.String("group-name"), Values: []string{"default"}}}})
			w.Must(err)
			w.try(w.customerEC2().ModifyVpcEndpoint(w.T.Context(), &ec2.ModifyVpcEndpointInput{
				VpcEndpointId: &es.Status.EndpointID, AddSecurityGroupIds: []string{*groups.SecurityGroups[0].GroupId}}))
		},
		"the policy of the endpoint is restricted": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.try(w.customerEC2().ModifyVpcEndpoint(w.T.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: &es.Status.EndpointID, PolicyDocument: aws.String(
				`{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Principal":"*"}]}`)}))
		},
		"private DNS of the endpoint is enabled": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{PrivateDnsName: aws.String("api.example.com")})
			w.try(w.customerEC2().ModifyVpcEndpoint(w.T.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: &es.Status.EndpointID, PrivateDnsEnabled: aws.Bool(true)}))
			w.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{RemovePrivateDnsName: aws.Bool(true)})
		},
		"the endpoint gets IPv6 addresses, and loses a subnet": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{AddSupportedIpAddressTypes: []string{"ipv6"}})
			w.try(w.customerEC2().ModifyVpcEndpoint(w.T.Context(), &ec2.ModifyVpcEndpointInput{
				VpcEndpointId: &es.Status.EndpointID, IpAddressType: ec2types.IpAddressTypeDualstack, RemoveSubnetIds: w.subnets[:1]}))
			w.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{RemoveSupportedIpAddressTypes: []string{"ipv6"}})
		},
		"the endpoint loses a tag": func(w *testEnv, es *hyperv1.AWSEndpointService) { w.untag(es.Status.EndpointID, "team") },
		"the group loses a tag":    func(w *testEnv, es *hyperv1.AWSEndpointService) { w.untag(es.Status.SecurityGroupID, awsx.NameTag) },
		"the group loses its rule": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.try(w.customerEC2().RevokeSecurityGroupIngress(w.T.Context(), &ec2.RevokeSecurityGroupIngressInput{
				GroupId: &es.Status.SecurityGroupID, IpPermissions: []ec2types.IpPermission{tcp(443, "10.0.0.0/16")}}))
		},
		"the group allows any source": func(w *testEnv, es *hyperv1.AWSEndpointService) {
			w.try(w.customerEC2().AuthorizeSecurityGroupIngress(w.T.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: &es.Status.SecurityGroupID, IpPermissions: []ec2types.IpPermission{tcp(22, "0.0.0.0/0")}}))
		},
		"a record is deleted": func(w *testEnv, _ *hyperv1.AWSEndpointService) {
			w.record(route53types.ChangeActionDelete, w.standing(names.LocalAPI("demo")))
		},
		"a record points elsewhere": func(w *testEnv, _ *hyperv1.AWSEndpointService) {
			set := w.standing(names.LocalAPI("demo"))
			set.ResourceRecords = []route53types.ResourceRecord{{Value: aws.String("elsewhere.example.com")}}
			w.record(route53types.ChangeActionUpsert, set)
		},
		"a record has another TTL": func(w *testEnv, _ *hyperv1.AWSEndpointService) {
			set := w.standing(names.LocalApps("demo"))
			set.TTL = aws.Int64(1)
			w.record(route53types.ChangeActionUpsert, set)
		},
		"an address has one of our names": func(w *testEnv, _ *hyperv1.AWSEndpointService) {
			set := w.standing(names.LocalAPI("demo"))
			w.record(route53types.ChangeActionDelete, set)
			w.record(route53types.ChangeActionUpsert, route53types.ResourceRecordSet{
				Name: set.Name, Type: route53types.RRTypeA, TTL: aws.Int64(60), ResourceRecords: []route53types.ResourceRecord{{Value: aws.String("10.0.0.9")}}})
		},
		"the zone is replaced": func(w *testEnv, _ *hyperv1.AWSEndpointService) {
			w.theirs.RemoveHostedZone(w.zone)
			w.zone = w.theirs.AddHostedZone(fakeaws.HostedZone{ID: w.zone + "X", Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: w.vpc}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.start()
			w.runPasses(enough)
			w.isReady()
			before, was := masked(w.AWS.Snapshot()), w.list(t.Context())[0]

			spoil(w, was)
			w.Clock.Step(resync * 6 / 5) // the jitter may add a fifth
			w.runPasses(enough)
			w.isReady()
			after := masked(w.AWS.Snapshot())
			if name == "the zone is replaced" {
				before = masked(strings.ReplaceAll(before, w.zone[:len(w.zone)-1], w.zone))
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Errorf("not repaired (-before +after):\n%s", d)
			}
			w.Must(w.delete(t.Context()))
			w.runPasses(enough)
			if left := append(w.inAWS(" endpoint("), w.inAWS(" group(demo-x")...); len(left) > 0 || len(w.list(t.Context())) > 0 {
				t.Errorf("not deleted after that: %v", left)
			}
		})
	}
}

// A setting that the role may not change is reported, and the endpoint serves.
func TestASettingThatCannotBeRepairedIsReported(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.runPasses(enough)
	w.eventLog.read()
	w.try(w.customerEC2().ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{
		VpcEndpointId: &w.list(t.Context())[0].Status.EndpointID, PolicyDocument: aws.String(`{"Statement":[]}`)}))
	w.AWS.Fault(fakeaws.Fault{Operation: "ModifyVpcEndpoint", Kind: fakeaws.Denied, Times: fakeaws.Forever})
	w.Clock.Step(resync * 6 / 5)
	w.runPasses(enough)
	w.isReady()
	if got := w.eventLog.read(); len(got) == 0 || !strings.Contains(got[0], "not allowed: policy reset to full access") {
		t.Errorf("events: %v", got)
	}
}

func (w *testEnv) modifyService(in *ec2.ModifyVpcEndpointServiceConfigurationInput) {
	w.T.Helper()
	services, err := w.ho().DescribeVpcEndpointServiceConfigurations(w.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	w.Must(err)
	in.ServiceId = services.ServiceConfigurations[0].ServiceId
	w.try(w.ho().ModifyVpcEndpointServiceConfiguration(w.T.Context(), in))
}

// try takes the results of an SDK call and fails the test on an error.
func (w *testEnv) try(_ any, err error) {
	w.T.Helper()
	w.Must(err)
}

func tcp(port int32, cidr string) ec2types.IpPermission {
	return ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []ec2types.IpRange{{CidrIp: &cidr}}}
}

func (w *testEnv) untag(id, key string) {
	w.try(w.customerEC2().DeleteTags(w.T.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key}}}))
}

func (w *testEnv) route53() *route53.Client {
	return records.NewClient(w.theirs.Config(region, "admin"))
}

func (w *testEnv) standing(name string) route53types.ResourceRecordSet {
	w.T.Helper()
	out, err := w.route53().ListResourceRecordSets(w.T.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &w.zone})
	w.Must(err)
	for _, set := range out.ResourceRecordSets {
		if strings.ReplaceAll(*set.Name, `\052`, "*") == name+"." {
			return set
		}
	}
	w.T.Fatalf("no record %s", name)
	return route53types.ResourceRecordSet{}
}

func (w *testEnv) record(action route53types.ChangeAction, set route53types.ResourceRecordSet) {
	w.T.Helper()
	w.try(w.route53().ChangeResourceRecordSets(w.T.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &w.zone, ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{Action: action, ResourceRecordSet: &set}}}}))
}
