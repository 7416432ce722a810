package hostedapi

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestRestoredSnapshotIsReported(t *testing.T) {
	e := deployed(t)
	hcp := e.HCP()
	before := hcp.DeepCopy()
	hcp.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{RestoreSnapshotURL: []hyperv1.SnapshotURL{"https://backups.example.com/demo.db"}}}
	e.Must(e.Admin().Patch(t.Context(), hcp, client.MergeFrom(before)))
	e.api.code, e.api.readyz = http.StatusInternalServerError, noEtcd
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdSnapshotRestored, "False EtcdWaitingForQuorum: the cluster has not been up yet")
	etcd := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.Etcd}}
	etcd.Status.Conditions = []metav1.Condition{{
		Type: hyperv1.ControlPlaneComponentAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.ContainerCrashedReason,
		Message: "the server returned 404 Not Found", LastTransitionTime: metav1.Unix(0, 0),
	}}
	e.Create(etcd)
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdSnapshotRestored, "False ContainerCrashed: the server returned 404 Not Found")
	e.api.code, e.api.readyz = http.StatusOK, allWell
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdSnapshotRestored, "True AsExpected: etcd began with the snapshot")
	e.api.code, e.api.readyz = http.StatusInternalServerError, noEtcd
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdSnapshotRestored, "True AsExpected: etcd began with the snapshot")
}

func TestNoConditionWithoutASnapshot(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdSnapshotRestored, "nothing")
}
