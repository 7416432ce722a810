package hostedcluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestAnInvalidPauseStopsChanges(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.change(t, func(hc *hyperv1.HostedCluster) {
		hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("2020-13-45T99:99:99rubbish"))
		hc.Spec.Release.Image = "example.test/release:2"
	})
	w.run(t, pass, 2)
	w.want(t, hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason, `spec.pausedUntil is "2020-13-45T99:99:99rubbish", which cannot be read`)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionUnknown, hyperv1.ReconciliationInvalidPausedUntilReason, "")
	w.want(t, hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, "ReconciliationActive: ")
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.wantControlPlane(t, notPaused, "example.test/release:1")
}
