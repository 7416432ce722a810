package teardown

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// waitingSince returns the start of a wait. The first call records it.
func waitingSince(st *hyperv1.HostedClusterStatus, cause hyperv1.WaitCause, now time.Time) time.Time {
	for _, w := range st.Waits {
		if w.Cause == cause {
			return w.Since.Time
		}
	}
	since := metav1.NewTime(now).Rfc3339Copy()
	st.Waits = append(st.Waits, hyperv1.WaitStatus{Cause: cause, Since: since})
	return since.Time
}

// endWait removes a wait that is over.
func endWait(st *hyperv1.HostedClusterStatus, cause hyperv1.WaitCause) {
	st.Waits = slices.DeleteFunc(st.Waits, func(w hyperv1.WaitStatus) bool { return w.Cause == cause })
}

// identityRejectedSince returns since when AWS rejects the cluster's identity, as
// far as this operator has observed it; zero if it does not.
func identityRejectedSince(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, now time.Time) time.Time {
	var c *metav1.Condition
	if hcp != nil {
		c = meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	}
	if c == nil || c.Status != metav1.ConditionFalse {
		endWait(&hc.Status, hyperv1.WaitForAWSIdentity)
		return time.Time{}
	}
	return waitingSince(&hc.Status, hyperv1.WaitForAWSIdentity, c.LastTransitionTime.Time)
}
