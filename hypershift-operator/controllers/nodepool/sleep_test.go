package nodepool

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// phase sets the phase, as the HostedCluster controller does.
func (e *fakeClusterAPI) phase(phase hyperv1.SleepPhase) {
	e.T.Helper()
	testenv.Change(e.Env, controlPlane(), func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(phase))
		if phase == hyperv1.SleepPhaseAwake {
			delete(hcp.Annotations, hyperv1.SleepPhaseAnnotation)
		}
	})
	e.Settle()
}

func TestMachinesAreDeletedForASleepAndCreatedAgain(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	spec := e.pool().Spec
	e.phase(hyperv1.SleepPhaseRemovingMachines)
	if n := len(machineNames(t, e)); n != 0 {
		t.Errorf("%d machines are left", n)
	}
	e.phase(hyperv1.SleepPhaseAsleep)
	e.ExpectConditions(map[string]string{"Ready": "False Asleep the HostedCluster sleeps: machines are created when it wakes"})
	if now := e.pool().Spec; *now.Replicas != *spec.Replicas {
		t.Errorf("the replicas of the NodePool are %d", *now.Replicas)
	}
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Replicas = ptr.To[int32](3) })
	e.Settle()
	if n := len(machineNames(t, e)); n != 0 {
		t.Errorf("%d machines are created while the cluster sleeps", n)
	}
	e.phase(hyperv1.SleepPhaseWaking)
	e.phase(hyperv1.SleepPhaseAwake)
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected 3 nodes"})
}

func TestKeptMachinesAreNotChangedDuringASleep(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	before := machineNames(t, e)
	e.phase(hyperv1.SleepPhaseAsleep)
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Replicas = ptr.To[int32](1) })
	e.Settle()
	if after := machineNames(t, e); len(after) != len(before) {
		t.Errorf("machines are %v, and were %v", after, before)
	}
	kept := "False Asleep the HostedCluster sleeps: 2 machines are kept, and not repaired"
	e.ExpectConditions(map[string]string{"Ready": kept, "AutorepairEnabled": kept})
	e.phase(hyperv1.SleepPhaseAwake)
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected 1 nodes", "AutorepairEnabled": "True AsExpected"})
}

// A cluster wakes for its deletion, which does not need other machines.
func TestAClusterThatWakesForItsDeletionGetsNoMachines(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	e.phase(hyperv1.SleepPhaseRemovingMachines)
	e.phase(hyperv1.SleepPhaseAsleep)
	hc := testenv.Read(e.Env, nodepooltest.HostedCluster())
	hc.Finalizers = append(hc.Finalizers, hyperv1.HostedClusterFinalizer)
	e.Update(hc)
	e.Delete(hc)
	e.phase(hyperv1.SleepPhaseWaking)
	if n := len(machineNames(t, e)); n != 0 {
		t.Errorf("%d machines are created", n)
	}
}

func TestTheAutoscalerDoesNotRestoreMachinesBeforeASleep(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np := nodepooltest.NodePool()
	nodepooltest.Autoscaled(1, 3)(np)
	e.releases.known[image136].Components = map[string]string{names.ClusterAutoscaler: "example.test/cluster-autoscaler"}
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), autoscaler(corev1.ConditionTrue), np)
	e.Restart()
	e.Settle()
	e.phase(hyperv1.SleepPhaseRemovingMachines)
	if md := e.deployment(); md.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] != "" || *md.Spec.Replicas != 0 {
		t.Errorf("the autoscaler still has the pool: %v, %d replicas", md.Annotations, *md.Spec.Replicas)
	}
	e.phase(hyperv1.SleepPhaseAsleep)
	e.ExpectConditions(map[string]string{"AutoscalingEnabled": "False Asleep"})
	e.phase(hyperv1.SleepPhaseAwake)
	e.ExpectConditions(map[string]string{"AutoscalingEnabled": "True AsExpected", "Ready": "True AsExpected 1 nodes"})
}
