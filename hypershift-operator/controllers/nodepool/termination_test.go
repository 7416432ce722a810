package nodepool

import (
	"testing"
	"time"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestInstancesAreCheckedWhileTheyTerminate(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	e.capi.stuck = true
	e.Delete(nodepooltest.NodePool())
	e.Settle()
	checks := func() (all []string) {
		t.Helper()
		for _, m := range testenv.Listed(e.Env, &infrav1.AWSMachineList{}).Items {
			all = append(all, m.Annotations["hypershift.openshift.io/termination-check"])
		}
		return all
	}
	for _, m := range testenv.Listed(e.Env, &infrav1.AWSMachineList{}).Items {
		e.Clock.SetTime(m.DeletionTimestamp.Add(12 * time.Second))
	}
	e.Settle()
	if got := checks(); len(got) != 2 || got[0] != "10s" || got[1] != "10s" {
		t.Errorf("the instances are checked at %q", got)
	}
	before := len(e.Calls.Log(0))
	e.Settle()
	if more := e.Calls.Log(before); len(more) > 0 {
		t.Errorf("the same check is repeated: %q", more)
	}
}

func TestNodesAreNotDrainedWithTheirCluster(t *testing.T) {
	for name, withCluster := range map[string]bool{"pool alone": false, "cluster": true} {
		t.Run(name, func(t *testing.T) {
			e := newFakeClusterAPI(t)
			e.Settle()
			e.capi.stuck = true
			if withCluster {
				testenv.Change(e.Env, nodepooltest.HostedCluster(), func(hc *hyperv1.HostedCluster) { hc.Finalizers = append(hc.Finalizers, hyperv1.HostedClusterFinalizer) })
				e.Delete(nodepooltest.HostedCluster())
			}
			e.Delete(nodepooltest.NodePool())
			e.Settle()
			machines := testenv.Listed(e.Env, &clusterv1.MachineList{}).Items
			if len(machines) != 2 {
				t.Fatalf("there are %d machines", len(machines))
			}
			for _, m := range machines {
				_, noDrain := m.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
				_, noDetach := m.Annotations[clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation]
				if noDrain != withCluster || noDetach != withCluster {
					t.Errorf("%s is deleted with the annotations %v", m.Name, m.Annotations)
				}
			}
		})
	}
}
