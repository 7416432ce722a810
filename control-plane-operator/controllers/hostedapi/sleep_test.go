package hostedapi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestASleepingAPIServerIsNotAsked(t *testing.T) {
	e := deployed(t)
	e.pathsChecked = true
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.KubeAPIServerAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	asked := e.api.asked
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
	})
	e.Once()
	if e.api.asked != asked {
		t.Error("it is asked")
	}
	e.ExpectCondition(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, hyperv1.AsleepReason, "the control plane sleeps")
	e.ExpectCondition(hyperv1.EtcdAvailable, metav1.ConditionFalse, hyperv1.AsleepReason, "the control plane sleeps")
	e.ExpectCondition(hyperv1.KubeAPIServerReachable, metav1.ConditionUnknown, hyperv1.AsleepReason, "the control plane sleeps")
	if st := e.HCP().Status; st.Ready || !st.Initialized || st.KubeConfig == nil {
		t.Errorf("status %+v", st)
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseWaking))
	})
	e.Once()
	e.ExpectCondition(hyperv1.KubeAPIServerAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(hyperv1.EtcdAvailable, metav1.ConditionTrue, hyperv1.EtcdQuorumAvailableReason)
}
