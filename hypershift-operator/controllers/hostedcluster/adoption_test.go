package hostedcluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/teardown"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// deleteAtOnce lets the HostedCluster be gone at once, whatever was to be done before:
// its user took the finalizers away, or was quicker than them.
func (w *testEnv) deleteAtOnce(ctx context.Context) error {
	hc, err := w.get(ctx)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	hc.Finalizers = nil
	return errors.Join(w.Admin().Update(ctx, hc), client.IgnoreNotFound(w.Admin().Delete(ctx, hc)))
}

// remains is everything in the cluster and in the bucket.
func (w *testEnv) remains(t *testing.T) string {
	t.Helper()
	text, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text + w.cloud.Snapshot()
}

// An API server first checks for finalizers and then removes the object: a finalizer that is added in between goes with the object, and its
// writer gets no error.
func TestAClusterDeletedBeforeItsFinalizerLeavesNothing(t *testing.T) {
	before := emptyTestEnv(t).remains(t)
	w := emptyTestEnv(t)
	hc := privateCluster()
	hc.Spec.ClusterID = "11111111-2222-4333-8444-555555555555" // or it would be noticed when this is set
	w.Create(t, pullSecret(), hc)
	w.hasty = true
	pass := w.start()
	w.run(t, pass, 1)
	if _, err := w.get(t.Context()); err == nil {
		t.Fatal("the HostedCluster is still there")
	}
	if !w.exists(t, &corev1.Namespace{}, client.ObjectKey{Name: plane}) {
		t.Fatal("the pass stopped, and proves nothing")
	}
	if err := w.Admin().Delete(t.Context(), pullSecret()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 30)
	if left := w.remains(t); left != before {
		t.Errorf("left behind:\n%s", left)
	}
}

func TestAnAdoptedClusterIsDeletedInOrder(t *testing.T) {
	w := newTestEnv(t)
	w.stuck = true
	pass := w.start()
	w.run(t, pass, 10)
	if err := w.deleteAtOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 5)
	hcp := &hyperv1.HostedControlPlane{}
	if !w.has(t, hcp, "demo") || !hcp.DeletionTimestamp.IsZero() {
		t.Error("the control plane goes before its machines")
	}
	ns := &corev1.Namespace{}
	if !w.exists(t, ns, client.ObjectKey{Name: plane}) || !strings.Contains(teardown.AdoptedDetail(ns), "waiting for the machines of node pools workers") {
		t.Errorf("the namespace does not say what is waited for: %q", teardown.AdoptedDetail(ns))
	}
	w.wantEvent(t, "HostedClusterLost", plane)
	w.stuck = false
	w.run(t, pass, 20)
	if w.exists(t, &corev1.Namespace{}, client.ObjectKey{Name: plane}) {
		t.Errorf("the namespace is still there")
	}
}

// The next cluster of that name waits until the namespace is deleted, keeps its node pools, and then gets its own control plane.
func TestANewClusterWaitsForTheAdoptedOne(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 10)
	first := &corev1.Namespace{}
	if !w.exists(t, first, client.ObjectKey{Name: plane}) {
		t.Fatal("there is no namespace")
	}
	w.stuck = true
	if err := w.deleteAtOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Create(t, privateCluster())
	w.run(t, pass, 3)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "namespace clusters-demo of an earlier cluster of this name is being taken down: waiting for AWSMachine workers-1")
	w.stuck = false
	if err := w.machinesGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 30)
	second := &corev1.Namespace{}
	if !w.exists(t, second, client.ObjectKey{Name: plane}) || second.UID == first.UID {
		t.Fatal("there is no namespace of its own")
	}
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	np := &hyperv1.NodePool{}
	if !w.exists(t, np, client.ObjectKeyFromObject(pool())) || !np.DeletionTimestamp.IsZero() {
		t.Error("its node pool was taken for that of the lost one")
	}
}

// A cache may not have a HostedCluster that is there.
func TestAClusterThatIsNotInTheCacheIsNotAdopted(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 10)
	calm := w.remains(t)
	w.blind = true
	w.run(t, pass, 3)
	if w.remains(t) != calm {
		t.Error("it was taken down")
	}
}

// machinesGo is Cluster API that follows a MachineDeployment.
func (w *testEnv) machinesGo(ctx context.Context) error {
	machine, instance := &clusterv1.Machine{}, &infrav1.AWSMachine{}
	key := client.ObjectKey{Namespace: plane, Name: pool().Name + "-1"}
	if err := errors.Join(w.Admin().Get(ctx, key, machine), w.Admin().Get(ctx, key, instance)); err != nil {
		return err
	}
	if err := errors.Join(w.Admin().Delete(ctx, machine), w.Admin().Delete(ctx, instance), w.Admin().Get(ctx, key, machine), w.Admin().Get(ctx, key, instance)); err != nil {
		return err
	}
	return errors.Join(w.release(ctx, instance, infrav1.MachineFinalizer), w.release(ctx, machine, clusterv1.MachineFinalizer))
}

// Whenever the HostedCluster gets lost, the rest goes.
func TestCrashConsistencyOfAnAdoptedCluster(t *testing.T) {
	crashtest.NoLeaks(t, func(t testing.TB) *crashtest.Scenario {
		w := newTestEnv(t)
		scenario := w.scenario()
		scenario.Delete = func(ctx context.Context) error {
			return errors.Join(w.deleteAtOnce(ctx), client.IgnoreNotFound(w.Admin().Delete(ctx, pool())), client.IgnoreNotFound(w.Admin().Delete(ctx, pullSecret())))
		}
		return scenario
	})
}
