package awsprivatelink

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func (e *customerNetwork) wantEvents(want ...string) {
	e.T.Helper()
	if got := e.recorded(); !slices.Equal(got, want) {
		e.T.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// There is one event for each change, and no other.
func TestEvents(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.run(5 * time.Minute)
	e.wantEvents("Normal EndpointAvailable: VPC endpoint vpce-generated is available")
	e.run(12 * time.Hour)
	e.wantEvents()

	e.theirs.FailEndpoint(region, e.list(t.Context())[0].Status.EndpointID, "no more addresses")
	e.run(time.Hour)
	e.wantEvents("Normal EndpointReplaced: VPC endpoint vpce-generated is failed and is being replaced: no more addresses",
		"Normal EndpointRecreated: VPC endpoint vpce-generated takes the place of vpce-generated",
		"Normal EndpointAvailable: VPC endpoint vpce-generated is available")

	e.try(e.customerEC2().RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: &e.list(t.Context())[0].Status.SecurityGroupID, IpPermissions: []ec2types.IpPermission{tcp(443, "10.0.0.0/16")}}))
	e.run(time.Hour)
	e.wantEvents("Normal AWSResourceChanged: sg-generated: 1 missing rules authorized")

	e.theirs.RemoveHostedZone(e.zone)
	e.run(12 * time.Hour)
	e.wantEvents("Warning HostedZoneNotFound: hosted zone "+e.zone+" is gone",
		"Warning HostedZoneNotFound: vpc-generated has no private hosted zone demo.hypershift.local; create the zone, or associate it with the VPC")
}

// A tag that the user removes is removed, and tags of others stay.
func TestARemovedTagIsRemovedInAWS(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.run(5 * time.Minute)
	es := e.list(t.Context())[0]
	ids := []string{es.Status.EndpointID, es.Status.SecurityGroupID}
	e.try(e.customerEC2().CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("theirs"), Value: aws.String("stays")}}}))

	e.retag("colour", "green")
	if got := e.AWSLines("team=blue"); len(got) > 0 {
		t.Errorf("still tagged:\n%s", strings.Join(got, "\n"))
	}
	for _, what := range []string{" endpoint(", " group(demo-x"} {
		if got := e.AWSLines(what, "colour=green", "theirs=stays"); len(got) == 0 {
			t.Errorf("no%s with the new tag and that of others:\n%s", what, e.AWS.Snapshot())
		}
	}
	e.recorded()
	e.AWS.ForgetCalls()
	e.run(12 * time.Hour)
	for _, c := range e.AWS.Calls() {
		if c.IsWrite() {
			t.Errorf("not at rest: %s", c.Action())
		}
	}
	e.wantEvents()
}

// A role that does not allow to take a tag away is no reason to be unavailable,
// and is tried once.
func TestADeniedTagRemovalIsSkipped(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.run(5 * time.Minute)
	e.recorded()
	e.AWS.Fault(fakeaws.Fault{Operation: "DeleteTags", Kind: fakeaws.Denied, Times: fakeaws.Forever})
	e.retag("team2", "blue")
	e.isReady()
	heard := strings.Join(e.recorded(), "\n")
	for _, kind := range []string{"vpce", "sg"} {
		if want := "Warning AWSChangeGivenUp: " + kind + "-generated: not allowed, and not tried again: tags taken away: team"; !strings.Contains(heard, want) {
			t.Errorf("heard\n%s\nand not\n%s", heard, want)
		}
	}
	e.run(12 * time.Hour)
	e.wantEvents()
}

// retag gives the cluster this tag and no other.
func (e *customerNetwork) retag(key, value string) {
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: key, Value: value}}
	})
	e.run(time.Hour)
}
