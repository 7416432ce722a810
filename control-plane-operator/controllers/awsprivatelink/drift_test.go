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
	for name, spoil := range map[string]func(*customerNetwork, *hyperv1.AWSEndpointService){
		"the endpoint is deleted": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.try(e.customerEC2().DeleteVpcEndpoints(e.T.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{es.Status.EndpointID}}))
		},
		"the endpoint fails": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.theirs.FailEndpoint(region, es.Status.EndpointID, "no more addresses")
		},
		"the connection is rejected": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			services, err := e.ho().DescribeVpcEndpointServiceConfigurations(e.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
			e.Must(err)
			e.try(e.ho().RejectVpcEndpointConnections(e.T.Context(), &ec2.RejectVpcEndpointConnectionsInput{
				ServiceId: services.ServiceConfigurations[0].ServiceId, VpcEndpointIds: []string{es.Status.EndpointID}}))
		},
		"the endpoint loses a subnet": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.try(e.customerEC2().ModifyVpcEndpoint(e.T.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: &es.Status.EndpointID, RemoveSubnetIds: e.subnets[:1]}))
		},
		"the endpoint gains a security group": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			groups, err := e.customerEC2().DescribeSecurityGroups(e.T.Context(), &ec2.DescribeSecurityGroupsInput{
				Filters: []ec2types.Filter{{Name: aws.String("group-name"), Values: []string{"default"}}}})
			e.Must(err)
			e.try(e.customerEC2().ModifyVpcEndpoint(e.T.Context(), &ec2.ModifyVpcEndpointInput{
				VpcEndpointId: &es.Status.EndpointID, AddSecurityGroupIds: []string{*groups.SecurityGroups[0].GroupId}}))
		},
		"the policy of the endpoint is restricted": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.try(e.customerEC2().ModifyVpcEndpoint(e.T.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: &es.Status.EndpointID, PolicyDocument: aws.String(
				`{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Principal":"*"}]}`)}))
		},
		"private DNS of the endpoint is enabled": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{PrivateDnsName: aws.String("api.example.com")})
			e.try(e.customerEC2().ModifyVpcEndpoint(e.T.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: &es.Status.EndpointID, PrivateDnsEnabled: aws.Bool(true)}))
			e.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{RemovePrivateDnsName: aws.Bool(true)})
		},
		"the endpoint gets IPv6 addresses, and loses a subnet": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{AddSupportedIpAddressTypes: []string{"ipv6"}})
			e.try(e.customerEC2().ModifyVpcEndpoint(e.T.Context(), &ec2.ModifyVpcEndpointInput{
				VpcEndpointId: &es.Status.EndpointID, IpAddressType: ec2types.IpAddressTypeDualstack, RemoveSubnetIds: e.subnets[:1]}))
			e.modifyService(&ec2.ModifyVpcEndpointServiceConfigurationInput{RemoveSupportedIpAddressTypes: []string{"ipv6"}})
		},
		"the endpoint loses a tag": func(e *customerNetwork, es *hyperv1.AWSEndpointService) { e.untag(es.Status.EndpointID, "team") },
		"the group loses a tag": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.untag(es.Status.SecurityGroupID, awsx.NameTag)
		},
		"the group loses its rule": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.try(e.customerEC2().RevokeSecurityGroupIngress(e.T.Context(), &ec2.RevokeSecurityGroupIngressInput{
				GroupId: &es.Status.SecurityGroupID, IpPermissions: []ec2types.IpPermission{tcp(443, "10.0.0.0/16")}}))
		},
		"the group allows any source": func(e *customerNetwork, es *hyperv1.AWSEndpointService) {
			e.try(e.customerEC2().AuthorizeSecurityGroupIngress(e.T.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: &es.Status.SecurityGroupID, IpPermissions: []ec2types.IpPermission{tcp(22, "0.0.0.0/0")}}))
		},
		"a record is deleted": func(e *customerNetwork, _ *hyperv1.AWSEndpointService) {
			e.record(route53types.ChangeActionDelete, e.standing(names.LocalAPI("demo")))
		},
		"a record points elsewhere": func(e *customerNetwork, _ *hyperv1.AWSEndpointService) {
			set := e.standing(names.LocalAPI("demo"))
			set.ResourceRecords = []route53types.ResourceRecord{{Value: aws.String("elsewhere.example.com")}}
			e.record(route53types.ChangeActionUpsert, set)
		},
		"a record has another TTL": func(e *customerNetwork, _ *hyperv1.AWSEndpointService) {
			set := e.standing(names.LocalApps("demo"))
			set.TTL = aws.Int64(1)
			e.record(route53types.ChangeActionUpsert, set)
		},
		"an address has one of our names": func(e *customerNetwork, _ *hyperv1.AWSEndpointService) {
			set := e.standing(names.LocalAPI("demo"))
			e.record(route53types.ChangeActionDelete, set)
			e.record(route53types.ChangeActionUpsert, route53types.ResourceRecordSet{
				Name: set.Name, Type: route53types.RRTypeA, TTL: aws.Int64(60), ResourceRecords: []route53types.ResourceRecord{{Value: aws.String("10.0.0.9")}}})
		},
		"the zone is replaced": func(e *customerNetwork, _ *hyperv1.AWSEndpointService) {
			e.theirs.RemoveHostedZone(e.zone)
			e.zone = e.theirs.AddHostedZone(fakeaws.HostedZone{ID: e.zone + "X", Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: e.vpc}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerNetwork(t)
			e.start()
			e.runPasses(enough)
			e.isReady()
			before, was := masked(e.AWS.Snapshot()), e.list(t.Context())[0]

			spoil(e, was)
			e.Clock.Step(resync * 6 / 5) // the jitter may add a fifth
			e.runPasses(enough)
			e.isReady()
			after := masked(e.AWS.Snapshot())
			if name == "the zone is replaced" {
				before = masked(strings.ReplaceAll(before, e.zone[:len(e.zone)-1], e.zone))
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Errorf("not repaired (-before +after):\n%s", d)
			}
			e.Must(e.delete(t.Context()))
			e.runPasses(enough)
			if left := append(e.AWSLines(" endpoint("), e.AWSLines(" group(demo-x")...); len(left) > 0 || len(e.list(t.Context())) > 0 {
				t.Errorf("not deleted after that: %v", left)
			}
		})
	}
}

// A setting that the role may not change is reported, and the endpoint serves.
func TestASettingThatCannotBeRepairedIsReported(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	e.recorded()
	e.try(e.customerEC2().ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{
		VpcEndpointId: &e.list(t.Context())[0].Status.EndpointID, PolicyDocument: aws.String(`{"Statement":[]}`)}))
	e.AWS.Fault(fakeaws.Fault{Operation: "ModifyVpcEndpoint", Kind: fakeaws.Denied, Times: fakeaws.Forever})
	e.Clock.Step(resync * 6 / 5)
	e.runPasses(enough)
	e.isReady()
	if got := e.recorded(); len(got) == 0 || !strings.Contains(got[0], "not allowed: policy reset to full access") {
		t.Errorf("events: %v", got)
	}
}

func (e *customerNetwork) modifyService(in *ec2.ModifyVpcEndpointServiceConfigurationInput) {
	e.T.Helper()
	services, err := e.ho().DescribeVpcEndpointServiceConfigurations(e.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	e.Must(err)
	in.ServiceId = services.ServiceConfigurations[0].ServiceId
	e.try(e.ho().ModifyVpcEndpointServiceConfiguration(e.T.Context(), in))
}

// try takes the results of an SDK call and fails the test on an error.
func (e *customerNetwork) try(_ any, err error) {
	e.T.Helper()
	e.Must(err)
}

func tcp(port int32, cidr string) ec2types.IpPermission {
	return ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []ec2types.IpRange{{CidrIp: &cidr}}}
}

func (e *customerNetwork) untag(id, key string) {
	e.try(e.customerEC2().DeleteTags(e.T.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key}}}))
}

func (e *customerNetwork) route53() *route53.Client {
	return records.NewClient(e.theirs.Config(region, "admin"))
}

func (e *customerNetwork) standing(name string) route53types.ResourceRecordSet {
	e.T.Helper()
	out, err := e.route53().ListResourceRecordSets(e.T.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &e.zone})
	e.Must(err)
	for _, set := range out.ResourceRecordSets {
		if strings.ReplaceAll(*set.Name, `\052`, "*") == name+"." {
			return set
		}
	}
	e.T.Fatalf("no record %s", name)
	return route53types.ResourceRecordSet{}
}

func (e *customerNetwork) record(action route53types.ChangeAction, set route53types.ResourceRecordSet) {
	e.T.Helper()
	e.try(e.route53().ChangeResourceRecordSets(e.T.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &e.zone, ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{Action: action, ResourceRecordSet: &set}}}}))
}
