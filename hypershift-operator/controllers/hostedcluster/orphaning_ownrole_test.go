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

// The role of these resources may be gone while AWS accepts the identity of the cluster. Deletion waits for them, and then names what is left. A
// missing answer is no refusal, nor is a bucket that is still being emptied.
func TestDeletionGivesUpResourcesWithARoleOfTheirOwn(t *testing.T) {
	for name, r := range map[string]struct {
		finalizer, condition string
		record               func(*hyperv1.HostedControlPlaneStatus)
		left                 string
	}{
		"DNS records of applications": {
			hyperv1.IngressRecordsFinalizer, hyperv1.IngressRecordsAvailable, func(status *hyperv1.HostedControlPlaneStatus) {
				status.IngressRecords = &hyperv1.IngressRecordsRecord{
					Region: "us-east-1", IssuerURL: "https://issuer.example.com", RoleARN: "arn:aws:iam::222222222222:role/demo-openshift-ingress",
					Names: []string{"*.apps.demo.example.com"}, ZoneIDs: []string{"Z1", "Z2"}, Targets: []string{"ingress.elb.us-east-1.amazonaws.com"},
				}
			}, "records *.apps.demo.example.com of hosted zone Z1, records *.apps",
		},
		"bucket of the image registry": {
			hyperv1.ImageRegistryFinalizer, hyperv1.ImageRegistryBucketAvailable, func(status *hyperv1.HostedControlPlaneStatus) {
				status.ImageRegistry = &hyperv1.ImageRegistryRecord{
					Bucket: "demo-image-registry-01234567", Region: "us-east-1", IssuerURL: "https://issuer.example.com",
					RoleARN: "arn:aws:iam::222222222222:role/demo-openshift-image-registry", Ready: ptr.To(false),
				}
			}, "bucket demo-image-registry-01234567",
		},
	} {
		for reported, status := range map[string]metav1.ConditionStatus{
			"AWS refuses the deletion": metav1.ConditionFalse, "AWS does not answer, or has not finished": metav1.ConditionUnknown, "nothing was reported since": metav1.ConditionTrue,
		} {
			t.Run(name+"/"+reported, func(t *testing.T) {
				e := newManagementCluster(t)
				e.Run(4)
				hcp := &hyperv1.HostedControlPlane{}
				e.Must(e.Admin().Get(e.T.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp))
				hcp.Finalizers = append(hcp.Finalizers, r.finalizer)
				e.Update(hcp)
				r.record(&hcp.Status)
				reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{
					Type: r.condition, Status: status, Reason: hyperv1.ReconcileErrorReason, Message: "the role does not exist",
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
				e.wantEvent("CloudResourcesLeftBehind", "could not be deleted: the role does not exist; left behind: "+r.left)
			})
		}
	}
}
