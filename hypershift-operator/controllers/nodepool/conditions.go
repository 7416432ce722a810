package nodepool

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const calm = "All is well"

// conditions are those of a NodePool whose HostedCluster is hc, or nil if there
// is none. A status that stays keeps its transition time.
func conditions(np *hyperv1.NodePool, hc *hyperv1.HostedCluster, now time.Time) []hyperv1.NodePoolCondition {
	wanted := []hyperv1.NodePoolCondition{valid(np, hc), active(np, now), ready(np, hc)}
	for i := range wanted {
		c := &wanted[i]
		c.ObservedGeneration = np.Generation
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		before := slices.IndexFunc(np.Status.Conditions, func(b hyperv1.NodePoolCondition) bool { return b.Type == c.Type })
		if before >= 0 && np.Status.Conditions[before].Status == c.Status {
			c.LastTransitionTime = np.Status.Conditions[before].LastTransitionTime
		}
	}
	return wanted
}

func valid(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) hyperv1.NodePoolCondition {
	c := hyperv1.NodePoolCondition{Type: hyperv1.NodePoolValidConfigurationCondition, Status: corev1.ConditionFalse}
	switch problem := np.Unreadable(); {
	case problem != "":
		c.Reason, c.Message = hyperv1.UnreadableReason, "the object cannot be read: "+problem
	case hc == nil:
		c.Reason = hyperv1.NodePoolNotFoundReason
		c.Message = fmt.Sprintf("HostedCluster %q, which spec.clusterName names, does not exist in namespace %s: create it there, or delete this pool and create one for another cluster", np.Spec.ClusterName, np.Namespace)
	default:
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, calm
	}
	return c
}

func active(np *hyperv1.NodePool, now time.Time) hyperv1.NodePoolCondition {
	c := hyperv1.NodePoolCondition{Type: hyperv1.NodePoolReconciliationActiveCondition, Status: corev1.ConditionTrue, Reason: hyperv1.NodePoolAsExpectedReason, Message: calm}
	if paused, _ := np.Spec.PausedUntil.Paused(now); paused {
		c.Status, c.Reason = corev1.ConditionFalse, hyperv1.ReconciliationPausedReason
		c.Message = fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *np.Spec.PausedUntil)
	}
	return c
}

// ready does not promise nodes that nobody makes.
func ready(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) hyperv1.NodePoolCondition {
	c := hyperv1.NodePoolCondition{
		Type: hyperv1.NodePoolReadyCondition, Status: corev1.ConditionFalse, Reason: hyperv1.NotDeployedReason,
		Message: "the endpoint of the cluster follows the subnet of this pool; this version makes no machines yet",
	}
	if v := valid(np, hc); v.Status != corev1.ConditionTrue {
		c.Reason, c.Message = v.Reason, v.Message
	}
	return c
}
