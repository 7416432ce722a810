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
func (e *managementCluster) holdWorkerGroup(why string) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	e.Must(e.Admin().Get(e.T.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp))
	hcp.Finalizers = append(hcp.Finalizers, hyperv1.ControlPlaneOperatorFinalizer)
	e.Update(hcp)
	hcp.Status.Platform = &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: "sg-2"}}
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{
		Type: hyperv1.AWSDefaultSecurityGroupDeleted, Status: metav1.ConditionFalse, Reason: hyperv1.SecurityGroupInUseReason, Message: why,
	}, e.Clock.Now())
	e.UpdateStatus(hcp)
}

// Deletion waits for the workers' security group, reports the reason, and orphans it only when AWS no longer accepts the identity.
func TestDeletionWaitsForTheSecurityGroupOfTheWorkers(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.holdWorkerGroup("security group sg-2 is still used by somebody")
	e.Delete(privateCluster())
	e.Run(8)
	e.Clock.Step(24 * time.Hour)
	e.Run(4)
	e.ExpectCondition(hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for HostedControlPlane demo to be deleted (security group sg-2 is still used by somebody)")

	e.identity(metav1.ConditionFalse)
	e.Run(2)
	e.wantGone(false)
	e.Clock.Step(11 * time.Minute)
	e.Run(8)
	e.wantGone(true)
	e.wantEvent("CloudResourcesLeftBehind", "security group sg-2")
}
