package clusterconditions

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func factsOf(hc *hyperv1.HostedCluster) *Facts {
	return &Facts{HostedCluster: hc, Steps: reconcile.NewConditions(nil, 0, noon), evaluated: map[string]metav1.Condition{}}
}

// healthy returns facts in which every needed condition is True.
func healthy() *Facts {
	f := factsOf(&hyperv1.HostedCluster{})
	for _, n := range needed {
		if n.required(f) {
			f.override(n.condition, metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
		}
	}
	return f
}

// override replaces the evaluation of a condition.
func (f *Facts) override(conditionType string, status metav1.ConditionStatus, reason, message string) {
	c := f.is(status, reason, message)
	c.Type = conditionType
	f.evaluated[conditionType] = c
}

func TestAConnectedClusterWithoutAnAPIServerIsNotAvailable(t *testing.T) {
	if c := healthy().condition(hyperv1.HostedClusterAvailable); c.Status != metav1.ConditionTrue {
		t.Fatalf("a healthy cluster is %s: %s", c.Status, c.Message)
	}
	f := healthy()
	f.override(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, hyperv1.NotDeployedReason, "it does not run")
	for condition, want := range map[string]metav1.Condition{
		hyperv1.HostedClusterAvailable:   {Status: metav1.ConditionFalse, Reason: hyperv1.NotDeployedReason, Message: "KubeAPIServerAvailable: it does not run"},
		hyperv1.HostedClusterProgressing: {Status: metav1.ConditionTrue, Reason: hyperv1.ProgressingReason, Message: "KubeAPIServerAvailable: it does not run"},
	} {
		if got := f.condition(condition); got.Status != want.Status || got.Reason != want.Reason || got.Message != want.Message {
			t.Errorf("%s is %s %s %q", condition, got.Status, got.Reason, got.Message)
		}
	}
}

// A cluster that users and nodes cannot reach is not available. Where that could
// not be checked, or is not, it has no effect.
func TestAvailableIncludesThePublishedAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		reachable metav1.ConditionStatus // "" for no condition
		want      metav1.ConditionStatus
	}{
		"it answers":                     {metav1.ConditionTrue, metav1.ConditionTrue},
		"it does not answer":             {metav1.ConditionFalse, metav1.ConditionFalse},
		"it could not be checked":        {metav1.ConditionUnknown, metav1.ConditionTrue},
		"load balancers are not checked": {"", metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			if c.reachable != "" {
				f.override(hyperv1.KubeAPIServerReachable, c.reachable, hyperv1.KubeAPIServerUnreachableReason, "Service router: gone")
			}
			got := f.condition(hyperv1.HostedClusterAvailable)
			if got.Status != c.want || c.want == metav1.ConditionFalse && got.Message != "KubeAPIServerReachable: Service router: gone" {
				t.Errorf("Available is %s: %s, want %s", got.Status, got.Message, c.want)
			}
		})
	}
}

// A mistake in one NodePool must not look like an outage of the cluster.
func TestEndpointWithoutSomeSubnetsIsAvailable(t *testing.T) {
	for reason, want := range map[string]metav1.ConditionStatus{
		hyperv1.SomeSubnetsUnusableReason: metav1.ConditionTrue,
		hyperv1.SubnetsUnusableReason:     metav1.ConditionFalse,
	} {
		f := healthy()
		f.override(hyperv1.AWSEndpointAvailable, metav1.ConditionFalse, reason, "not found: subnet-0")
		if got := f.condition(hyperv1.HostedClusterAvailable); got.Status != want {
			t.Errorf("%s: Available is %s: %s", reason, got.Status, got.Message)
		}
	}
}

// Users see that machines are waited for. The cluster can be used meanwhile.
func TestAChangeOfTheAccessModeIsProgress(t *testing.T) {
	f := healthy()
	f.override(hyperv1.EndpointAccessUpToDate, metav1.ConditionFalse, hyperv1.MachinesBehindReason, "waiting for machines a")
	for condition, want := range map[string]metav1.Condition{
		hyperv1.HostedClusterAvailable:   {Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell},
		hyperv1.HostedClusterProgressing: {Status: metav1.ConditionTrue, Reason: hyperv1.ProgressingReason, Message: "EndpointAccessUpToDate: waiting for machines a"},
	} {
		if got := f.condition(condition); got.Status != want.Status || got.Reason != want.Reason || got.Message != want.Message {
			t.Errorf("%s is %s %s %q", condition, got.Status, got.Reason, got.Message)
		}
	}
}

func TestLeftBehindResourcesAreReportedUntilTheEnd(t *testing.T) {
	hc := &hyperv1.HostedCluster{Status: hyperv1.HostedClusterStatus{LeftBehind: []hyperv1.LeftBehindResource{
		{Service: "EC2", Type: "VPC endpoint", ID: "vpce-1"}, {Service: "EC2", Type: "security group", ID: "sg-1"},
	}}}
	hc.DeletionTimestamp = &metav1.Time{Time: noon}
	f := factsOf(hc)
	c := f.condition(hyperv1.CloudResourcesDestroyed)
	if c.Status != metav1.ConditionFalse || c.Reason != hyperv1.CloudResourcesCleanupSkippedReason || c.Message != "left behind: VPC endpoint vpce-1, security group sg-1" {
		t.Errorf("got %+v", c)
	}
}

// The order in which conditions are evaluated has no effect, and a second
// evaluation of the same facts changes neither a condition nor a time.
func TestEvaluationIsStable(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	f := factsOf(hc)
	f.Evaluate()
	first := f.Steps.List()
	second := &Facts{HostedCluster: hc, Steps: reconcile.NewConditions(first, 0, noon.Add(time.Hour))}
	second.condition(hyperv1.HostedClusterProgressing)
	second.Evaluate()
	for i, c := range second.Steps.List() {
		if c != first[i] {
			t.Errorf("%+v has become %+v", first[i], c)
		}
	}
}
