package controlplanestatus

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// setVersion sets the conditions about the release, for tools that expect the conditions of a ClusterVersion object. A condition
// is absent until the controllers have reported its inputs.
func setVersion(hcp *hyperv1.HostedControlPlane, conditions *reconcile.Conditions) {
	for _, derived := range []struct {
		condition string
		from      func(*hyperv1.HostedControlPlane, *reconcile.Conditions) *metav1.Condition
	}{
		{hyperv1.ClusterVersionReleaseAccepted, releaseAccepted},
		{hyperv1.ClusterVersionProgressing, versionProgressing},
		{hyperv1.ClusterVersionSucceeding, versionSucceeding},
		{hyperv1.ClusterVersionAvailable, versionAvailable},
	} {
		c := derived.from(hcp, conditions)
		if c == nil {
			conditions.Remove(derived.condition)
			continue
		}
		out := metav1.Condition{Type: derived.condition, Status: c.Status, Reason: c.Reason, Message: c.Message}
		if v := hcp.Status.VersionStatus; v != nil {
			out.ObservedGeneration = v.ObservedGeneration
		}
		conditions.Put(out)
	}
}

func releaseAccepted(_ *hyperv1.HostedControlPlane, conditions *reconcile.Conditions) *metav1.Condition {
	return conditions.Get(hyperv1.ValidReleaseInfo)
}

func versionProgressing(hcp *hyperv1.HostedControlPlane, _ *reconcile.Conditions) *metav1.Condition {
	switch v := hcp.Status.VersionStatus; {
	case v == nil || len(v.History) == 0:
		return nil
	case v.History[0].State != configv1.CompletedUpdate:
		return &metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.ProgressingReason, Message: "version " + v.History[0].Version + " is being rolled out"}
	}
	return &metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.AsExpectedReason}
}

// takesTime are the reasons of ConfigOperatorReconciliationSucceeded that are no error.
var takesTime = []string{
	hyperv1.WaitingForReason, hyperv1.WaitingForKubeAPIServerReason, hyperv1.WaitingForKubeconfigReason, hyperv1.WaitingForPermissionsReason,
	hyperv1.WaitingForEndpointReason, hyperv1.WaitingForCertificateReason, hyperv1.WaitingForReleaseReason, hyperv1.NodesBehindReason,
}

// versionSucceeding returns the first error.
func versionSucceeding(_ *hyperv1.HostedControlPlane, conditions *reconcile.Conditions) *metav1.Condition {
	release := conditions.Get(hyperv1.ValidReleaseInfo)
	if release == nil {
		return nil
	}
	for _, failing := range []struct {
		condition string
		status    metav1.ConditionStatus
	}{
		{hyperv1.ValidReleaseInfo, metav1.ConditionFalse},
		{hyperv1.HostedControlPlaneDegraded, metav1.ConditionTrue},
		{hyperv1.ConfigOperatorReconciliationSucceeded, metav1.ConditionFalse},
	} {
		if c := conditions.Get(failing.condition); c != nil && c.Status == failing.status && !slices.Contains(takesTime, c.Reason) {
			return &metav1.Condition{Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Type + ": " + c.Message}
		}
	}
	if release.Status != metav1.ConditionTrue {
		return release
	}
	return &metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
}

// versionAvailable returns the condition for the first missing fact.
func versionAvailable(hcp *hyperv1.HostedControlPlane, conditions *reconcile.Conditions) *metav1.Condition {
	v := hcp.Status.VersionStatus
	if v == nil {
		return nil
	}
	if !slices.ContainsFunc(v.History, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate }) {
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.ProgressingReason, Message: "no version has been rolled out completely yet"}
	}
	for _, needed := range []string{hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable, hyperv1.ConfigOperatorReconciliationSucceeded} {
		c := conditions.Get(needed)
		if c == nil {
			return &metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: needed + ": waiting for the first report"}
		}
		if c.Status != metav1.ConditionTrue {
			return &metav1.Condition{Status: c.Status, Reason: c.Reason, Message: needed + ": " + c.Message}
		}
	}
	return &metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
}
