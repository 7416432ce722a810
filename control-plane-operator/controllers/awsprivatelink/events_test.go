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

func (w *testEnv) wantEvents(want ...string) {
	w.T.Helper()
	if got := w.eventLog.read(); !slices.Equal(got, want) {
		w.T.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// There is one event for each change, and no other.
func TestEvents(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.run(5 * time.Minute)
	w.wantEvents("Normal EndpointAvailable: VPC endpoint vpce-generated is available")
	w.run(12 * time.Hour)
	w.wantEvents()

	w.theirs.FailEndpoint(region, w.list(t.Context())[0].Status.EndpointID, "no more addresses")
	w.run(time.Hour)
	w.wantEvents("Normal EndpointReplaced: VPC endpoint vpce-generated is failed and is being replaced: no more addresses",
		"Normal EndpointRecreated: VPC endpoint vpce-generated takes the place of vpce-generated",
		"Normal EndpointAvailable: VPC endpoint vpce-generated is available")

	w.try(w.customerEC2().RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: &w.list(t.Context())[0].Status.SecurityGroupID, IpPermissions: []ec2types.IpPermission{tcp(443, "10.0.0.0/16")}}))
	w.run(time.Hour)
	w.wantEvents("Normal AWSResourceChanged: sg-generated: 1 missing rules authorized")

	w.theirs.RemoveHostedZone(w.zone)
	w.run(12 * time.Hour)
	w.wantEvents("Warning HostedZoneNotFound: hosted zone "+w.zone+" is gone",
		"Warning HostedZoneNotFound: vpc-generated has no private hosted zone demo.hypershift.local; create the zone, or associate it with the VPC")
}

// A tag that the user removes is removed, and tags of others stay.
func TestARemovedTagIsRemovedInAWS(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.run(5 * time.Minute)
	es := w.list(t.Context())[0]
	ids := []string{es.Status.EndpointID, es.Status.SecurityGroupID}
	w.try(w.customerEC2().CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("theirs"), Value: aws.String("stays")}}}))

	w.retag("colour", "green")
	if got := w.inAWS("team=blue"); len(got) > 0 {
		t.Errorf("still tagged:\n%s", strings.Join(got, "\n"))
	}
	for _, what := range []string{" endpoint(", " group(demo-x"} {
		if got := w.inAWS(what, "colour=green", "theirs=stays"); len(got) == 0 {
			t.Errorf("no%s with the new tag and that of others:\n%s", what, w.AWS.Snapshot())
		}
	}
	w.eventLog.read()
	w.AWS.ForgetCalls()
	w.run(12 * time.Hour)
	for _, c := range w.AWS.Calls() {
		if c.IsWrite() {
			t.Errorf("not at rest: %s", c.Action())
		}
	}
	w.wantEvents()
}

// A role that does not allow to take a tag away is no reason to be unavailable,
// and is tried once.
func TestADeniedTagRemovalIsSkipped(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.run(5 * time.Minute)
	w.eventLog.read()
	w.AWS.Fault(fakeaws.Fault{Operation: "DeleteTags", Kind: fakeaws.Denied, Times: fakeaws.Forever})
	w.retag("team2", "blue")
	w.isReady()
	heard := strings.Join(w.eventLog.read(), "\n")
	for _, kind := range []string{"vpce", "sg"} {
		if want := "Warning AWSChangeGivenUp: " + kind + "-generated: not allowed, and not tried again: tags taken away: team"; !strings.Contains(heard, want) {
			t.Errorf("heard\n%s\nand not\n%s", heard, want)
		}
	}
	w.run(12 * time.Hour)
	w.wantEvents()
}

// retag gives the cluster this tag and no other.
func (w *testEnv) retag(key, value string) {
	w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: key, Value: value}}
	})
	w.run(time.Hour)
}
