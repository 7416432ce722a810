package nodepool

import (
	"testing"
	"time"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
)

func TestInstancesAreCheckedWhileTheyTerminate(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass)
	w.capi.stuck = true
	if err := w.Admin().Delete(t.Context(), nodepooltest.NodePool()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass)
	checks := func() (all []string) {
		t.Helper()
		for _, m := range list(t, w, &infrav1.AWSMachineList{}).Items {
			all = append(all, m.Annotations["hypershift.openshift.io/termination-check"])
		}
		return all
	}
	for _, m := range list(t, w, &infrav1.AWSMachineList{}).Items {
		w.clock.SetTime(m.DeletionTimestamp.Add(12 * time.Second))
	}
	w.run(t, pass)
	if got := checks(); len(got) != 2 || got[0] != "10s" || got[1] != "10s" {
		t.Errorf("the instances are checked at %q", got)
	}
	before := len(w.Calls.Log(0))
	w.run(t, pass)
	if more := w.Calls.Log(before); len(more) > 0 {
		t.Errorf("the same check is repeated: %q", more)
	}
}

func TestNodesAreNotDrainedWithTheirCluster(t *testing.T) {
	for name, withCluster := range map[string]bool{"pool alone": false, "cluster": true} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			pass := w.start()
			w.run(t, pass)
			w.capi.stuck = true
			if withCluster {
				change(t, w, nodepooltest.HostedCluster(), func(hc *hyperv1.HostedCluster) { hc.Finalizers = append(hc.Finalizers, hyperv1.HostedClusterFinalizer) })
				if err := w.Admin().Delete(t.Context(), nodepooltest.HostedCluster()); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Admin().Delete(t.Context(), nodepooltest.NodePool()); err != nil {
				t.Fatal(err)
			}
			w.run(t, pass)
			machines := list(t, w, &clusterv1.MachineList{}).Items
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
