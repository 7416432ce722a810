package hostedcluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// ownedBy says whether an object of the control plane's namespace has that owner, and whether it has any.
func (e *managementCluster) ownedBy(obj client.Object, name string, owner metav1.Object) (its, any bool) {
	e.T.Helper()
	if !e.Has(obj, name) {
		e.T.Fatalf("there is no %T %s", obj, name)
	}
	for _, ref := range obj.GetOwnerReferences() {
		its = its || ref.UID == owner.GetUID()
	}
	return its, len(obj.GetOwnerReferences()) > 0
}

func TestTheClusterOwnsTheObjectsThatClusterAPIExpects(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.Create(testenv.PullSecret(), privateCluster())
	e.Restart()
	e.Run(10)
	cluster := &clusterv1.Cluster{}
	if _, any := e.ownedBy(&hyperv1.HostedControlPlane{}, "demo", cluster); any {
		t.Error("the control plane has an owner although Cluster API does not run")
	}
	e.Must(e.Admin().Create(t.Context(), pool()))
	e.Run(10)
	if !e.Has(cluster, "demo-x") {
		t.Fatal("there is no Cluster")
	}
	for _, obj := range []client.Object{&hyperv1.HostedControlPlane{}, &infrav1.AWSCluster{}} {
		if its, _ := e.ownedBy(obj, "demo", cluster); !its {
			t.Errorf("%T is left for Cluster API to give it an owner", obj)
		}
		if metav1.GetControllerOf(obj) != nil {
			t.Errorf("%T is controlled: Cluster API would change that", obj)
		}
	}
}

// Otherwise each of them would be written a second time, to add the owner.
func TestANewClusterOwnsItsObjectsFromTheirCreation(t *testing.T) {
	e := newManagementCluster(t)
	e.Once()
	cluster := &clusterv1.Cluster{}
	if !e.Has(cluster, "demo-x") {
		t.Fatal("there is no Cluster")
	}
	for _, obj := range []client.Object{&hyperv1.HostedControlPlane{}, &infrav1.AWSCluster{}} {
		if its, _ := e.ownedBy(obj, "demo", cluster); !its {
			t.Errorf("%T does not have the owner after one pass", obj)
		}
	}
}

// Cluster API sets the owner as its own field manager, so that an apply without the field does not remove it.
func TestADeletedClusterDoesNotDeleteTheControlPlane(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(10)
	cluster, hcp := &clusterv1.Cluster{}, &hyperv1.HostedControlPlane{}
	if !e.Has(cluster, "demo-x") {
		t.Fatal("there is no Cluster")
	}
	e.Delete(cluster)
	e.Run(2)
	if its, _ := e.ownedBy(hcp, "demo", cluster); its {
		t.Error("we leave it with an owner that goes")
	}
	hcp.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}}
	e.Update(hcp)
	e.Delete(pool())
	e.Run(4)
	if its, _ := e.ownedBy(hcp, "demo", cluster); its {
		t.Error("it has an owner that is released")
	}
	e.Create(pool())
	e.Run(4)
	made := &clusterv1.Cluster{}
	if !e.Has(made, "demo-x") || made.UID == cluster.UID {
		t.Fatalf("it is not made again: %+v", made.ObjectMeta)
	}
	if its, _ := e.ownedBy(hcp, "demo", cluster); its {
		t.Error("the garbage collector would take the control plane along")
	}
}
