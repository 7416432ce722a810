package hostedcluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestAnUnavailableOperatorIsReported(t *testing.T) {
	const words = "the control-plane-operator does not run: Deployment clusters-demo/control-plane-operator: Counted: no such image"
	e := newManagementCluster(t)
	e.Run(4)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")

	e.down = "no such image"
	e.Run(2)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "") // it may be back in a moment
	e.Clock.Step(2 * time.Minute)
	e.Run(1)
	for _, condition := range []string{hyperv1.InfrastructureReady, hyperv1.ValidAWSIdentityProvider, hyperv1.AWSEndpointAvailable, hyperv1.KubeAPIServerAvailable} {
		e.ExpectCondition(condition, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, words)
	}
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "") // that is not its half
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.ControlPlaneOperatorNotRunningReason, words)

	said := e.Calls.Writes()
	e.Clock.Step(2 * time.Minute)
	e.Run(2)
	if again := e.Calls.Writes() - said; again > 0 {
		t.Errorf("%d writes about what has been said", again)
	}

	e.down = ""
	e.Run(2)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

// While the cluster is not available, an operator that cannot start is reported at once.
func TestAnUnschedulableOperatorIsReportedAtOnce(t *testing.T) {
	for name, prepare := range map[string]func(*managementCluster){
		"and that has not said a word yet": func(e *managementCluster) {
			e.down = "no pod is ready"
			e.Run(2)
		},
		"when it is moved before the cluster is available": func(e *managementCluster) {
			e.Run(4)
			e.etcdFails()
			e.Run(1)
			e.down = "no pod is ready"
			e.Run(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newManagementCluster(t)
			prepare(e)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "control-plane-operator-1", Labels: map[string]string{"app": "control-plane-operator"}}}
			e.Must(e.Admin().Create(t.Context(), pod))
			for _, lacks := range []string{"memory", "cpu"} {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient " + lacks + ".",
				}}
				e.UpdateStatus(pod)
				e.Clock.Step(10 * time.Second)
				e.Run(1)
				e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.ControlPlaneOperatorNotRunningReason,
					"the control-plane-operator does not run: Deployment clusters-demo/control-plane-operator: no node takes a pod: Insufficient "+lacks)
			}
		})
	}
}

// etcdFails lets the control-plane-operator report a failure of etcd from now on.
func (e *managementCluster) etcdFails() {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		e.T.Fatal("there is no control plane")
	}
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdAvailable, Status: metav1.ConditionFalse, Reason: "Said", Message: "no quorum"}, e.Clock.Now())
	e.UpdateStatus(hcp)
}
