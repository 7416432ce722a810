package controlplanestatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// needed are the conditions that Available summarizes, in the order in which they are
// reported. Several controllers write them.
var needed = []string{
	hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady,
	hyperv1.KubeAPIServerAvailable, hyperv1.KubeAPIServerReachable, hyperv1.EtcdAvailable,
}

// setAvailable sets Available: False with the first condition that keeps the control
// plane from being available, else True. Its observed generation is the one for which
// the configuration was checked.
func setAvailable(_ *hyperv1.HostedControlPlane, conditions *reconcile.Conditions) {
	available := metav1.Condition{Type: hyperv1.HostedControlPlaneAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
	if missing := firstMissing(conditions); missing != nil {
		available.Status, available.Reason, available.Message = metav1.ConditionFalse, missing.Reason, missing.Type+": "+missing.Message
	}
	if valid := conditions.Get(hyperv1.ValidHostedControlPlaneConfiguration); valid != nil {
		available.ObservedGeneration = valid.ObservedGeneration
	}
	conditions.Put(available)
}

func firstMissing(conditions *reconcile.Conditions) *metav1.Condition {
	for _, t := range needed {
		c := conditions.Get(t)
		if t == hyperv1.KubeAPIServerReachable && (c == nil || c.Status == metav1.ConditionUnknown) {
			continue // where load balancers are not checked, or cannot be reached from here
		}
		if c == nil {
			c = &metav1.Condition{Type: t, Reason: hyperv1.StatusUnknownReason, Message: "waiting for the first report"}
		}
		if c.Status != metav1.ConditionTrue {
			return c
		}
	}
	return nil
}
