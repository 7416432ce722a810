package hostedcluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestAnInvalidPauseStopsChanges(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("2020-13-45T99:99:99rubbish"))
		hc.Spec.Release.Image = "example.test/release:2"
	})
	e.Run(2)
	e.ExpectCondition(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason, `spec.pausedUntil is "2020-13-45T99:99:99rubbish", which cannot be read`)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionUnknown, hyperv1.ReconciliationInvalidPausedUntilReason, "")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, "ReconciliationActive: ")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantControlPlane(notPaused, "example.test/release:1")
}
