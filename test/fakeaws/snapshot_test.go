package fakeaws_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// everything makes an endpoint with its group and record, after a few detours.
func everything(t *testing.T, detours int, cidr string) string {
	w := start(t)
	for range detours {
		g, err := w.cpo.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("detour"), Description: aws.String("d"), VpcId: &w.vpc})
		must(t, err)
		_, err = w.cpo.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
		must(t, err)
	}
	g, err := w.cpo.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("endpoint"), Description: aws.String("d"), VpcId: &w.vpc})
	must(t, err)
	_, err = w.cpo.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: []types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443), IpRanges: []types.IpRange{{CidrIp: &cidr}}}}})
	must(t, err)
	in := w.endpoint("a")
	in.SecurityGroupIds = []string{*g.GroupId}
	e, err := w.cpo.CreateVpcEndpoint(t.Context(), in)
	must(t, err)
	zone := w.Account(consumer).AddHostedZone(fakeaws.HostedZone{Name: "demo.hypershift.local", VPCs: []fakeaws.ZoneVPC{{Region: region, ID: w.vpc}}})
	_, err = route53.NewFromConfig(w.Account(consumer).Config(region, "")).ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{Action: r53types.ChangeActionUpsert, ResourceRecordSet: &r53types.ResourceRecordSet{
			Name: aws.String("api.demo.hypershift.local"), Type: r53types.RRTypeCname, TTL: aws.Int64(300), ResourceRecords: []r53types.ResourceRecord{{Value: e.VpcEndpoint.DnsEntries[0].DnsName}}}}}}})
	must(t, err)
	return w.Snapshot()
}

func TestSnapshot(t *testing.T) {
	straight := everything(t, 0, "10.0.0.0/16")
	if strings.Contains(straight, "-0c0") {
		t.Errorf("there are made-up ids in\n%s", straight)
	}
	for _, part := range []string{"endpoint( owner=a)", "group(endpoint)", "service(router)", "api.demo.hypershift.local."} {
		if !strings.Contains(straight, part) {
			t.Errorf("%q is missing in\n%s", part, straight)
		}
	}
	if around := everything(t, 3, "10.0.0.0/16"); around != straight {
		t.Errorf("other ids make another picture:\n%s\n\n%s", straight, around)
	}
	if other := everything(t, 0, "10.1.0.0/16"); other == straight {
		t.Errorf("another rule makes the same picture:\n%s", straight)
	}
}

func TestPages(t *testing.T) {
	w := start(t)
	for _, owner := range []string{"a", "b", "c", "d", "e"} {
		_, err := w.cpo.CreateVpcEndpoint(t.Context(), w.endpoint(owner))
		must(t, err)
	}
	w.SetPageSize(2)
	pages := ec2.NewDescribeVpcEndpointsPaginator(w.cpo, &ec2.DescribeVpcEndpointsInput{})
	var sizes []int
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		must(t, err)
		sizes = append(sizes, len(page.VpcEndpoints))
	}
	if len(sizes) != 3 || sizes[2] != 1 {
		t.Errorf("pages of %v, want 2, 2 and 1", sizes)
	}
	_, err := w.cpo.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{NextToken: aws.String("made-up")})
	if code(err) != "InvalidNextToken" {
		t.Errorf("a made-up token: %v", err)
	}
}
