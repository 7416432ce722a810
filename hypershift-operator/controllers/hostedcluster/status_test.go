package hostedcluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/conditions"
)

// A cluster that nobody can talk to is not available, however well it is connected.
func TestAConnectedClusterWithoutAnAPIServerIsNotAvailable(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	b := &board{hc: hc, now: metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	for _, n := range needed {
		b.set(n.condition, metav1.ConditionTrue, hyperv1.AsExpectedReason, calm)
	}
	b.available(&scope{hc: hc}, nil)
	if !conditions.IsTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		t.Fatal("not available although nothing is missing")
	}
	b.set(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, hyperv1.NotDeployedReason, "it does not run")
	b.available(&scope{hc: hc}, nil)
	for condition, want := range map[string]metav1.Condition{
		hyperv1.HostedClusterAvailable:   {Status: metav1.ConditionFalse, Reason: hyperv1.NotDeployedReason, Message: "KubeAPIServerAvailable: it does not run"},
		hyperv1.HostedClusterProgressing: {Status: metav1.ConditionFalse, Reason: hyperv1.AsExpectedReason, Message: calm},
	} {
		if got := b.get(condition); got.Status != want.Status || got.Reason != want.Reason || got.Message != want.Message {
			t.Errorf("%s is %s %s %q", condition, got.Status, got.Reason, got.Message)
		}
	}
}
