package hostedcluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// ownedBy says whether an object of the control plane's namespace has that owner, and whether it has any.
func (w *testEnv) ownedBy(t *testing.T, obj client.Object, name string, owner metav1.Object) (its, any bool) {
	t.Helper()
	if !w.has(t, obj, name) {
		t.Fatalf("there is no %T %s", obj, name)
	}
	for _, ref := range obj.GetOwnerReferences() {
		its = its || ref.UID == owner.GetUID()
	}
	return its, len(obj.GetOwnerReferences()) > 0
}

func TestTheClusterOwnsTheObjectsThatClusterAPIExpects(t *testing.T) {
	w := emptyTestEnv(t)
	w.Create(t, pullSecret(), privateCluster())
	pass := w.start()
	w.run(t, pass, 10)
	cluster := &clusterv1.Cluster{}
	if !w.has(t, cluster, "demo-x") {
		t.Fatal("there is no Cluster")
	}
	if _, any := w.ownedBy(t, &hyperv1.HostedControlPlane{}, "demo", cluster); any {
		t.Error("the control plane has an owner although Cluster API does not run")
	}
	if err := w.Admin().Create(t.Context(), pool()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 10)
	for _, obj := range []client.Object{&hyperv1.HostedControlPlane{}, &infrav1.AWSCluster{}} {
		if its, _ := w.ownedBy(t, obj, "demo", cluster); !its {
			t.Errorf("%T is left for Cluster API to give it an owner", obj)
		}
		if metav1.GetControllerOf(obj) != nil {
			t.Errorf("%T is controlled: Cluster API would change that", obj)
		}
	}
}

// Otherwise each of them would be written a second time, to add the owner.
func TestANewClusterOwnsItsObjectsFromTheirCreation(t *testing.T) {
	w := newTestEnv(t)
	if err := w.start()(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster := &clusterv1.Cluster{}
	if !w.has(t, cluster, "demo-x") {
		t.Fatal("there is no Cluster")
	}
	for _, obj := range []client.Object{&hyperv1.HostedControlPlane{}, &infrav1.AWSCluster{}} {
		if its, _ := w.ownedBy(t, obj, "demo", cluster); !its {
			t.Errorf("%T does not have the owner after one pass", obj)
		}
	}
}

// Cluster API sets the owner as its own field manager, so that an apply without the field does not remove it.
func TestADeletedClusterDoesNotDeleteTheControlPlane(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 10)
	cluster, hcp := &clusterv1.Cluster{}, &hyperv1.HostedControlPlane{}
	if !w.has(t, cluster, "demo-x") {
		t.Fatal("there is no Cluster")
	}
	if err := w.Admin().Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 2)
	if its, _ := w.ownedBy(t, hcp, "demo", cluster); its {
		t.Error("we leave it with an owner that goes")
	}
	hcp.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}}
	if err := w.Admin().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	if err := w.Admin().Delete(t.Context(), pool()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 4)
	made := &clusterv1.Cluster{}
	if !w.has(t, made, "demo-x") || made.UID == cluster.UID {
		t.Fatalf("it is not made again: %+v", made.ObjectMeta)
	}
	if its, _ := w.ownedBy(t, hcp, "demo", cluster); its {
		t.Error("the garbage collector would take the control plane along")
	}
}
