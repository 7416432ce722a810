package hostedcluster

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestAnUnavailableOperatorIsReported(t *testing.T) {
	const words = "the control-plane-operator does not run: Deployment clusters-demo/control-plane-operator: Counted: no such image"
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")

	w.down = "no such image"
	w.run(t, pass, 2)
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "") // it may be back in a moment
	w.clock.Step(2 * time.Minute)
	w.run(t, pass, 1)
	for _, condition := range []string{hyperv1.InfrastructureReady, hyperv1.ValidAWSIdentityProvider, hyperv1.AWSEndpointAvailable, hyperv1.KubeAPIServerAvailable} {
		w.want(t, condition, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, words)
	}
	w.want(t, hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "") // that is not its half
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.ControlPlaneOperatorNotRunningReason, words)

	said := w.Calls.Writes()
	w.clock.Step(2 * time.Minute)
	w.run(t, pass, 2)
	if again := w.Calls.Writes() - said; again > 0 {
		t.Errorf("%d writes about what has been said", again)
	}

	w.down = ""
	w.run(t, pass, 2)
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

// While the cluster is not available, an operator that cannot start is reported at once.
func TestAnUnschedulableOperatorIsReportedAtOnce(t *testing.T) {
	for name, prepare := range map[string]func(*testEnv, func(context.Context) error){
		"and that has not said a word yet": func(w *testEnv, pass func(context.Context) error) {
			w.down = "no pod is ready"
			w.run(t, pass, 2)
		},
		"when it is moved before the cluster is available": func(w *testEnv, pass func(context.Context) error) {
			w.run(t, pass, 4)
			w.etcdFails(t)
			w.run(t, pass, 1)
			w.down = "no pod is ready"
			w.run(t, pass, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			pass := w.start()
			prepare(w, pass)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "control-plane-operator-1", Labels: map[string]string{"app": "control-plane-operator"}}}
			if err := w.Admin().Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			for _, lacks := range []string{"memory", "cpu"} {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient " + lacks + ".",
				}}
				if err := w.Admin().Status().Update(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
				w.clock.Step(10 * time.Second)
				w.run(t, pass, 1)
				w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.ControlPlaneOperatorNotRunningReason,
					"the control-plane-operator does not run: Deployment clusters-demo/control-plane-operator: no node takes a pod: Insufficient "+lacks)
			}
		})
	}
}

// etcdFails lets the control-plane-operator report a failure of etcd from now on.
func (w *testEnv) etcdFails(t *testing.T) {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdAvailable, Status: metav1.ConditionFalse, Reason: "Said", Message: "no quorum"}, w.clock.Now())
	if err := w.Admin().Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
}
