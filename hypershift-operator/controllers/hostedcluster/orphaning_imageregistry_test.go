package hostedcluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// The role of the image registry may be gone while AWS accepts the identity of the cluster. Deletion waits for the bucket, and then names it. An
// operator that still empties the bucket reports no refusal.
func TestDeletionGivesUpBucketOfTheImageRegistry(t *testing.T) {
	for name, status := range map[string]metav1.ConditionStatus{
		"AWS refuses the deletion": metav1.ConditionFalse, "the bucket is being emptied": metav1.ConditionUnknown, "nothing was reported since": metav1.ConditionTrue,
	} {
		t.Run(name, func(t *testing.T) {
			e := newManagementCluster(t)
			e.Run(4)
			hcp := &hyperv1.HostedControlPlane{}
			e.Must(e.Admin().Get(e.T.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp))
			hcp.Finalizers = append(hcp.Finalizers, hyperv1.ImageRegistryFinalizer)
			e.Update(hcp)
			hcp.Status.ImageRegistry = &hyperv1.ImageRegistryRecord{
				Bucket: "demo-image-registry-01234567", Region: "us-east-1", IssuerURL: "https://issuer.example.com",
				RoleARN: "arn:aws:iam::222222222222:role/demo-openshift-image-registry", Ready: ptr.To(false),
			}
			reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{
				Type: hyperv1.ImageRegistryBucketAvailable, Status: status, Reason: hyperv1.ReconcileErrorReason, Message: "the role does not exist",
			}, e.Clock.Now())
			e.UpdateStatus(hcp)
			e.Delete(privateCluster())
			e.Run(8)
			e.wantGone(false)
			e.Clock.Step(24 * time.Hour)
			e.Run(8)
			if status != metav1.ConditionFalse {
				e.wantGone(false)
				return
			}
			e.wantGone(true)
			e.wantEvent("CloudResourcesLeftBehind", "could not be deleted: the role does not exist; left behind: bucket demo-image-registry-01234567")
		})
	}
}
