package hostedcluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// holdWorkerGroup records the workers' security group as the control-plane-operator does, and keeps it there.
func (w *testEnv) holdWorkerGroup(t *testing.T, why string) {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp); err != nil {
		t.Fatal(err)
	}
	hcp.Finalizers = append(hcp.Finalizers, hyperv1.ControlPlaneOperatorFinalizer)
	if err := w.Admin().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	hcp.Status.Platform = &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: "sg-2"}}
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{
		Type: hyperv1.AWSDefaultSecurityGroupDeleted, Status: metav1.ConditionFalse, Reason: hyperv1.SecurityGroupInUseReason, Message: why,
	}, w.clock.Now())
	if err := w.Admin().Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
}

// Deletion waits for the workers' security group, reports the reason, and orphans it only when AWS no longer accepts the identity.
func TestDeletionWaitsForTheSecurityGroupOfTheWorkers(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.holdWorkerGroup(t, "security group sg-2 is still used by somebody")
	w.remove(t, privateCluster())
	w.run(t, pass, 8)
	w.clock.Step(24 * time.Hour)
	w.run(t, pass, 4)
	w.want(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for HostedControlPlane demo to be deleted (security group sg-2 is still used by somebody)")

	w.identity(t, metav1.ConditionFalse)
	w.run(t, pass, 2)
	w.wantGone(t, false)
	w.clock.Step(11 * time.Minute)
	w.run(t, pass, 8)
	w.wantGone(t, true)
	w.wantEvent(t, "CloudResourcesLeftBehind", "security group sg-2")
}
