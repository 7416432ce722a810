package hostedcluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/teardown"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// deleteAtOnce lets the HostedCluster be gone at once, whatever was to be done before:
// its user took the finalizers away, or was quicker than them.
func (e *managementCluster) deleteAtOnce(ctx context.Context) error {
	hc := privateCluster()
	err := e.Admin().Get(ctx, client.ObjectKeyFromObject(hc), hc)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	hc.Finalizers = nil
	return errors.Join(e.Admin().Update(ctx, hc), client.IgnoreNotFound(e.Admin().Delete(ctx, hc)))
}

// remains is everything in the cluster and in the bucket.
func (e *managementCluster) remains() string {
	e.T.Helper()
	text, err := e.Snapshot(e.T.Context())
	e.Must(err)
	return text + e.AWS.Snapshot()
}

// An API server first checks for finalizers and then removes the object: a finalizer that is added in between goes with the object, and its
// writer gets no error.
func TestAClusterDeletedBeforeItsFinalizerLeavesNothing(t *testing.T) {
	before := newEmptyManagementCluster(t).remains()
	e := newEmptyManagementCluster(t)
	hc := privateCluster()
	hc.Spec.ClusterID = "11111111-2222-4333-8444-555555555555" // or it would be noticed when this is set
	e.Create(testenv.PullSecret(), hc)
	e.hasty = true
	e.Restart()
	e.Run(1)
	if e.Exists(privateCluster()) {
		t.Fatal("the HostedCluster is still there")
	}
	if !e.Exists(planeNamespace()) {
		t.Fatal("the pass stopped, and proves nothing")
	}
	e.Delete(testenv.PullSecret())
	e.Run(30)
	if left := e.remains(); left != before {
		t.Errorf("left behind:\n%s", left)
	}
}

func TestAnAdoptedClusterIsDeletedInOrder(t *testing.T) {
	e := newManagementCluster(t)
	e.stuck = true
	e.Restart()
	e.Run(10)
	e.Must(e.deleteAtOnce(t.Context()))
	e.Run(5)
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") || !hcp.DeletionTimestamp.IsZero() {
		t.Error("the control plane goes before its machines")
	}
	ns := planeNamespace()
	if !e.Exists(ns) || !strings.Contains(teardown.AdoptedDetail(ns), "waiting for the machines of node pools workers") {
		t.Errorf("the namespace does not say what is waited for: %q", teardown.AdoptedDetail(ns))
	}
	e.wantEvent("HostedClusterLost", plane)
	e.stuck = false
	e.Run(20)
	if e.Exists(planeNamespace()) {
		t.Errorf("the namespace is still there")
	}
}

// The next cluster of that name waits until the namespace is deleted, keeps its node pools, and then gets its own control plane.
func TestANewClusterWaitsForTheAdoptedOne(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(10)
	first := planeNamespace()
	if !e.Exists(first) {
		t.Fatal("there is no namespace")
	}
	e.stuck = true
	e.Must(e.deleteAtOnce(t.Context()))
	e.Create(privateCluster())
	e.Run(3)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "namespace clusters-demo of an earlier cluster of this name is being taken down: waiting for AWSMachine workers-1")
	e.stuck = false
	e.Must(e.machinesGo(t.Context()))
	e.Run(30)
	second := planeNamespace()
	if !e.Exists(second) || second.UID == first.UID {
		t.Fatal("there is no namespace of its own")
	}
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	np := pool()
	if !e.Exists(np) || !np.DeletionTimestamp.IsZero() {
		t.Error("its node pool was taken for that of the lost one")
	}
}

// A cache may not have a HostedCluster that is there.
func TestAClusterThatIsNotInTheCacheIsNotAdopted(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(10)
	calm := e.remains()
	e.blind = true
	e.Run(3)
	if e.remains() != calm {
		t.Error("it was taken down")
	}
}

// machinesGo is Cluster API that follows a MachineDeployment.
func (e *managementCluster) machinesGo(ctx context.Context) error {
	machine, instance := &clusterv1.Machine{}, &infrav1.AWSMachine{}
	key := client.ObjectKey{Namespace: plane, Name: pool().Name + "-1"}
	if err := errors.Join(e.Admin().Get(ctx, key, machine), e.Admin().Get(ctx, key, instance)); err != nil {
		return err
	}
	if err := errors.Join(e.Admin().Delete(ctx, machine), e.Admin().Delete(ctx, instance), e.Admin().Get(ctx, key, machine), e.Admin().Get(ctx, key, instance)); err != nil {
		return err
	}
	return errors.Join(e.release(ctx, instance, infrav1.MachineFinalizer), e.release(ctx, machine, clusterv1.MachineFinalizer))
}

// Whenever the HostedCluster gets lost, the rest goes.
func TestCrashConsistencyOfAnAdoptedCluster(t *testing.T) {
	crashtest.NoLeaks(t, func(t testing.TB) *crashtest.Scenario {
		e := newManagementCluster(t)
		scenario := e.scenario()
		scenario.Delete = func(ctx context.Context) error {
			return errors.Join(e.deleteAtOnce(ctx), client.IgnoreNotFound(e.Admin().Delete(ctx, pool())), client.IgnoreNotFound(e.Admin().Delete(ctx, testenv.PullSecret())))
		}
		return scenario
	})
}
