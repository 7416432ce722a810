package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

func TestEachConditionThatIsNotNormalIsARow(t *testing.T) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	add := func(conditionType string, status metav1.ConditionStatus, reason, message string) {
		hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message})
	}
	add(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "AsExpected", "All is well")
	add(hyperv1.HostedClusterDegraded, metav1.ConditionFalse, "AsExpected", "")
	add(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, "Progressing", "rolling out 1.36.3")
	add(hyperv1.DataPlaneConnectionAvailable, metav1.ConditionFalse, hyperv1.NoTunnelsReason, "no pod konnectivity-agent is ready")
	add(hyperv1.ValidAWSIdentityProvider, metav1.ConditionUnknown, "StatusUnknown", "AWS does not answer")
	add(hyperv1.EtcdAvailable, metav1.ConditionUnknown, hyperv1.NoNodesReason, "nothing to observe")
	pool := hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "demo-a"}}
	pool.Status.Conditions = []hyperv1.NodePoolCondition{{Type: hyperv1.NodePoolReadyCondition, Status: "False", Reason: "NotReady", Message: "0 of 1 nodes are available"}}

	var got []string
	for _, r := range conditions(clustertree.Build(&clustertree.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{pool}})) {
		got = append(got, fmt.Sprintf("%s %s: %s -> %s", r.Status, r.Check, r.Message, r.Action))
	}
	want := []string{
		"failed HostedCluster demo, DataPlaneConnectionAvailable: no pod konnectivity-agent is ready -> docs/conditions.md, condition DataPlaneConnectionAvailable, reason NoTunnels",
		"warning HostedCluster demo, Progressing: rolling out 1.36.3 -> docs/conditions.md, condition Progressing, reason Progressing",
		"unknown HostedCluster demo, ValidAWSIdentityProvider: AWS does not answer -> docs/conditions.md, condition ValidAWSIdentityProvider, reason StatusUnknown",
		"failed NodePool demo-a, Ready: 0 of 1 nodes are available -> docs/conditions.md, condition Ready, reason NotReady",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
