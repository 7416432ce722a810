package operatorhealth

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
)

// No watch reports that a Deployment has been starting for too long: while it is, the
// result names a time for the next check.
func TestHealth(t *testing.T) {
	const (
		prefix  = "the control-plane-operator does not run: "
		missing = prefix + "there is no Deployment clusters-demo/control-plane-operator"
		crashes = prefix + "Deployment clusters-demo/control-plane-operator: CrashLoopBackOff"
		silent  = prefix + "Deployment clusters-demo/control-plane-operator: Counted: no pod is ready"
	)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	deployment := func(status corev1.ConditionStatus, since time.Duration) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "control-plane-operator"}}
		d.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since)), Reason: "Counted", Message: "no pod is ready",
		}}
		return d
	}
	controlPlane := func(age time.Duration) *hyperv1.HostedControlPlane {
		return &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age))}}
	}
	old := controlPlane(time.Hour)
	for name, tc := range map[string]struct {
		hcp        *hyperv1.HostedControlPlane
		deployment *appsv1.Deployment
		pods       string
		available  bool
		want       Health
	}{
		"it runs":                                                         {hcp: old, deployment: deployment(corev1.ConditionTrue, time.Hour)},
		"there is nothing to manage yet":                                  {deployment: deployment(corev1.ConditionFalse, time.Hour)},
		"it has been unavailable for too long":                            {hcp: old, deployment: deployment(corev1.ConditionFalse, 2*time.Minute), want: Health{silent, stoppedInterval}},
		"it has been unavailable for a moment":                            {hcp: old, deployment: deployment(corev1.ConditionFalse, time.Minute), want: Health{"", startingInterval}},
		"the check is at the end of the period, if that is sooner":        {hcp: old, deployment: deployment(corev1.ConditionFalse, 115*time.Second), want: Health{"", 5 * time.Second}},
		"a problem of its pods is reported at once":                       {hcp: old, deployment: deployment(corev1.ConditionFalse, 0), pods: "CrashLoopBackOff", want: Health{crashes, startingInterval}},
		"a problem of its pods may be over soon for an available cluster": {hcp: old, deployment: deployment(corev1.ConditionFalse, time.Minute), pods: "CrashLoopBackOff", available: true, want: Health{"", time.Minute}},
		"and not after the period":                                        {hcp: old, deployment: deployment(corev1.ConditionFalse, time.Hour), pods: "CrashLoopBackOff", available: true, want: Health{crashes, stoppedInterval}},
		"it is missing":                                                   {hcp: old, want: Health{missing, stoppedInterval}},
		"it is missing for a new control plane":                           {hcp: controlPlane(time.Second), want: Health{"", startingInterval}},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Plane: controlplane.Namespace{Name: "clusters-demo"}, Deployment: tc.deployment, ControlPlane: tc.hcp, ClusterAvailable: tc.available}
			if got := f.evaluate(tc.pods, now); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestDeploymentProblem(t *testing.T) {
	failure := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "quota"}
	late := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out"}
	few := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", Message: "too few"}
	for name, tc := range map[string]struct {
		conditions []appsv1.DeploymentCondition
		want       string
	}{
		"pods that cannot be made come first":    {[]appsv1.DeploymentCondition{few, late, failure}, "FailedCreate: quota"},
		"then pods that do not become ready":     {[]appsv1.DeploymentCondition{few, late}, "ProgressDeadlineExceeded: timed out"},
		"then that there are too few":            {[]appsv1.DeploymentCondition{few}, "MinimumReplicasUnavailable: too few"},
		"a Deployment that nobody has looked at": {nil, "no pod of it is ready"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deploymentProblem(&appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: tc.conditions}}); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A new Deployment is reconciled several times before its first pod exists.
func TestPodsAreReadOnlyIfThereAreSome(t *testing.T) {
	reads := 0
	pods := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			reads++
			return nil
		},
	})
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}}}
	for replicas, want := range []int{0, 1} {
		d.Status.Replicas = int32(replicas)
		reads = 0
		if _, err := Check(t.Context(), pods, Facts{Deployment: d, ControlPlane: &hyperv1.HostedControlPlane{}}, time.Now()); err != nil || reads != want {
			t.Errorf("%d reads, %v, of the pods of a Deployment that has %d, want %d", reads, err, replicas, want)
		}
	}
}
