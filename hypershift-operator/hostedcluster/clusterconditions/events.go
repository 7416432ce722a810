package clusterconditions

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/events"
)

// Events returns this reconcile's changes that matter to the cluster's users. Evaluate comes first.
func (f *Facts) Events() []events.Change {
	if f.deleting() {
		return nil
	}
	var changes []events.Change
	for _, evaluate := range []func(*Facts) *events.Change{availabilityChange, stall, upgrade, endpointAccessChange} {
		if change := evaluate(f); change != nil {
			changes = append(changes, *change)
		}
	}
	return changes
}

func availabilityChange(f *Facts) *events.Change {
	switch c := f.condition(hyperv1.HostedClusterAvailable); {
	case c.Status == metav1.ConditionTrue && !f.wasAvailable():
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "Available", Message: c.Message}
	case c.Status == metav1.ConditionFalse && f.wasAvailable() && c.Reason == hyperv1.AsleepReason:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "Asleep", Message: c.Message}
	case c.Status == metav1.ConditionFalse && f.wasAvailable():
		return &events.Change{Type: corev1.EventTypeWarning, Reason: "NotAvailable", Message: c.Message}
	}
	return nil
}

// stall reports each new cause. A pause is the user's wish.
func stall(f *Facts) *events.Change {
	c, previous := f.condition(hyperv1.HostedClusterStalled), f.Steps.Before(hyperv1.HostedClusterStalled)
	if c.Status != metav1.ConditionTrue || f.Paused && !f.InvalidPause || previous != nil && previous.Message == c.Message {
		return nil
	}
	return &events.Change{Type: corev1.EventTypeWarning, Reason: "Stalled", Message: c.Message}
}

// upgrade reports when the roll-out of another release begins and ends. The first release of a cluster is not an upgrade.
func upgrade(f *Facts) *events.Change {
	if f.PreviousVersion == nil || len(f.PreviousVersion.History) == 0 || f.HostedCluster.Status.Version == nil {
		return nil
	}
	history, previous := f.HostedCluster.Status.Version.History, f.PreviousVersion.History[0]
	switch current := history[0]; {
	case current.Image != previous.Image || current.Version != previous.Version:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "UpgradeStarted", Message: fmt.Sprintf("The upgrade from %s to %s has started", previous.Version, current.Version)}
	case len(history) > 1 && current.State == configv1.CompletedUpdate && previous.State != configv1.CompletedUpdate:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "UpgradeCompleted", Message: fmt.Sprintf("The upgrade to %s is complete; node pools have releases of their own", current.Version)}
	}
	return nil
}

// endpointAccessChange reports when the machines begin to follow a change of the access mode, and when all have.
func endpointAccessChange(f *Facts) *events.Change {
	if f.HostedCluster.Spec.Platform.AWS == nil {
		return nil
	}
	c, previous := f.condition(hyperv1.EndpointAccessUpToDate), f.before(hyperv1.EndpointAccessUpToDate)
	switch mode := f.HostedCluster.Spec.Platform.AWS.EndpointAccess; {
	case previous == metav1.ConditionTrue && c.Status == metav1.ConditionFalse:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "EndpointAccessChanging", Message: fmt.Sprintf("The change to endpoint access %s has started: %s", mode, c.Message)}
	case previous == metav1.ConditionFalse && c.Status == metav1.ConditionTrue:
		return &events.Change{Type: corev1.EventTypeNormal, Reason: "EndpointAccessChanged", Message: fmt.Sprintf("All nodes use the addresses of endpoint access %s", mode)}
	}
	return nil
}
