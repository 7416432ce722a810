package nodepool

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestEventsReportEachChangeOnce(t *testing.T) {
	is := func(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
	}
	ready := is(hyperv1.NodePoolReadyCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, "2 nodes are available")
	notReady := is(hyperv1.NodePoolReadyCondition, metav1.ConditionFalse, hyperv1.NodePoolWaitingForMachinesReason, "1 of 2 nodes are available")
	moving := is(hyperv1.NodePoolUpdatingVersionCondition, metav1.ConditionTrue, hyperv1.NodePoolUpdatingReason, "1 of 2 machines have another version")
	moved := is(hyperv1.NodePoolUpdatingVersionCondition, metav1.ConditionFalse, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	stalled := is(hyperv1.NodePoolStalledCondition, metav1.ConditionTrue, hyperv1.InvalidImageReason, "ValidReleaseImage: choose another")
	paused := is(hyperv1.NodePoolStalledCondition, metav1.ConditionTrue, hyperv1.ReconciliationPausedReason, "remove it to go on")
	draining := is(hyperv1.NodePoolDeletingCondition, metav1.ConditionTrue, hyperv1.NodePoolMachinesGoReason, "machines still exist: 1 of 1 (a): deletion is requested")
	blocked := is(hyperv1.NodePoolDeletingCondition, metav1.ConditionTrue, hyperv1.NodePoolMachinesGoReason,
		"machines still exist: 1 of 1 (a): Pod web: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods")
	unreachable := is(hyperv1.NodePoolAllNodesHealthyCondition, metav1.ConditionFalse, hyperv1.NodePoolPodNetworkNotReadyReason, "2 of 2 have no pod network")

	for name, c := range map[string]struct {
		before, after []metav1.Condition
		want          []events.Change
	}{
		"nothing has changed":                     {[]metav1.Condition{ready, moved}, []metav1.Condition{ready, moved}, nil},
		"a new pool":                              {nil, []metav1.Condition{notReady, moved}, nil},
		"all nodes are available":                 {[]metav1.Condition{notReady}, []metav1.Condition{ready}, []events.Change{{Type: "Normal", Reason: "NodesAvailable", Message: "2 nodes are available"}}},
		"a node is gone":                          {[]metav1.Condition{ready}, []metav1.Condition{notReady}, []events.Change{{Type: "Warning", Reason: "NotReady", Message: "1 of 2 nodes are available"}}},
		"a cause is known":                        {[]metav1.Condition{notReady}, []metav1.Condition{notReady, unreachable}, []events.Change{{Type: "Warning", Reason: "PodNetworkNotReady", Message: "2 of 2 have no pod network"}}},
		"the cause is the same":                   {[]metav1.Condition{notReady, unreachable}, []metav1.Condition{notReady, unreachable}, nil},
		"only the user can help":                  {[]metav1.Condition{ready}, []metav1.Condition{ready, stalled}, []events.Change{{Type: "Warning", Reason: "Stalled", Message: "ValidReleaseImage: choose another"}}},
		"the user has not helped":                 {[]metav1.Condition{ready, stalled}, []metav1.Condition{ready, stalled}, nil},
		"a pause":                                 {[]metav1.Condition{ready}, []metav1.Condition{ready, paused}, nil},
		"a version update begins":                 {[]metav1.Condition{ready, moved}, []metav1.Condition{ready, moving}, []events.Change{{Type: "Normal", Reason: "VersionUpdateStarted", Message: "1 of 2 machines have another version"}}},
		"a version update goes on":                {[]metav1.Condition{ready, moving}, []metav1.Condition{ready, moving}, nil},
		"a version update ends":                   {[]metav1.Condition{ready, moving}, []metav1.Condition{ready, moved}, []events.Change{{Type: "Normal", Reason: "VersionUpdateCompleted", Message: "All nodes run version 1.36.3"}}},
		"a disruption budget blocks the deletion": {[]metav1.Condition{notReady, draining}, []metav1.Condition{notReady, blocked}, []events.Change{{Type: "Warning", Reason: "DrainBlocked", Message: blocked.Message}}},
		"it still blocks it":                      {[]metav1.Condition{notReady, blocked}, []metav1.Condition{notReady, blocked}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{Spec: machines.Spec{Pool: &objects.Pool{NodePool: &hyperv1.NodePool{Status: hyperv1.NodePoolStatus{Version: "1.36.3"}}}}}
			b := conditionBuilder{reconcile.NewConditions(c.before, 1, time.Unix(1, 0))}
			for _, condition := range c.after {
				b.Put(condition)
			}
			if got := b.events(s); !slices.Equal(got, c.want) {
				t.Errorf("events are %v, want %v", got, c.want)
			}
		})
	}
}
