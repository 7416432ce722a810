package nodepool

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machinestate"
	"github.com/hosted-control-planes/hypershift/internal/events"
)

// events returns the changes of this reconcile that users of the pool notice.
func (b conditionBuilder) events(s *scope) []events.Change {
	var changes []events.Change
	for _, evaluate := range []func(*scope) *events.Change{b.readiness, b.cause, b.stall, b.versionUpdate, b.blockedDeletion} {
		if change := evaluate(s); change != nil {
			changes = append(changes, *change)
		}
	}
	return changes
}

func (b conditionBuilder) readiness(*scope) *events.Change {
	current, previous := b.Get(hyperv1.NodePoolReadyCondition), b.Before(hyperv1.NodePoolReadyCondition)
	switch wasReady := previous != nil && previous.Status == metav1.ConditionTrue; {
	case current.Status == metav1.ConditionTrue && !wasReady:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "NodesAvailable", Message: current.Message}
	case current.Status != metav1.ConditionTrue && wasReady:
		return &events.Change{Type: corev1.EventTypeWarning, Reason: "NotReady", Message: current.Message}
	}
	return nil
}

// cause reports when it becomes known why machines do not become nodes.
func (b conditionBuilder) cause(*scope) *events.Change {
	current, previous := b.Get(hyperv1.NodePoolAllNodesHealthyCondition), b.Before(hyperv1.NodePoolAllNodesHealthyCondition)
	if current == nil || current.Status == metav1.ConditionTrue || !machinestate.IsCause(current.Reason) || previous != nil && previous.Reason == current.Reason {
		return nil
	}
	return &events.Change{Type: corev1.EventTypeWarning, Reason: current.Reason, Message: current.Message}
}

// stall reports each new cause. A pause is the user's wish.
func (b conditionBuilder) stall(*scope) *events.Change {
	current, previous := b.Get(hyperv1.NodePoolStalledCondition), b.Before(hyperv1.NodePoolStalledCondition)
	if current == nil || current.Reason == hyperv1.ReconciliationPausedReason || previous != nil && previous.Message == current.Message {
		return nil
	}
	return &events.Change{Type: corev1.EventTypeWarning, Reason: "Stalled", Message: current.Message}
}

// versionUpdate reports when the nodes begin to move to another version, and when all have.
func (b conditionBuilder) versionUpdate(s *scope) *events.Change {
	current, previous := b.Get(hyperv1.NodePoolUpdatingVersionCondition), b.Before(hyperv1.NodePoolUpdatingVersionCondition)
	if current == nil || previous == nil || current.Status == previous.Status || s.Dying() {
		return nil
	}
	switch current.Status {
	case metav1.ConditionTrue:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "VersionUpdateStarted", Message: current.Message}
	case metav1.ConditionFalse:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "VersionUpdateCompleted", Message: fmt.Sprintf("All nodes run version %s", s.NodePool.Status.Version)}
	}
	return nil
}

// disruptionBudget is in the message of Cluster API about a pod that a PodDisruptionBudget keeps on its node.
const disruptionBudget = "disruption budget"

// blockedDeletion reports that a PodDisruptionBudget keeps a machine of a pool that is being deleted.
func (b conditionBuilder) blockedDeletion(*scope) *events.Change {
	current, previous := b.Get(hyperv1.NodePoolDeletingCondition), b.Before(hyperv1.NodePoolDeletingCondition)
	if current == nil || !strings.Contains(current.Message, disruptionBudget) || previous != nil && strings.Contains(previous.Message, disruptionBudget) {
		return nil
	}
	return &events.Change{Type: corev1.EventTypeWarning, Reason: "DrainBlocked", Message: current.Message}
}
