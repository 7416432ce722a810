package repair

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestRepairDelayDoublesUpToALimit(t *testing.T) {
	for attempts, want := range map[int32]string{1: "20m", 2: "40m", 3: "1h20m", 5: "5h20m", 6: "8h", 1000: "8h"} {
		if got := withoutZeros(repairDelay(20*time.Minute, attempts)); got != want {
			t.Errorf("after %d attempts %s, want %s", attempts, got, want)
		}
	}
	if got := withoutZeros(repairDelay(12*time.Hour, 3)); got != "12h" {
		t.Errorf("a start that takes long is not awaited: %s", got)
	}
}

// aMachine is one of a pool, with the time since which its instance runs.
type aMachine struct {
	name    string
	age     time.Duration
	node    bool
	deleted bool
	// waiting is true for a machine without an instance, failed if the AWS provider has given it up.
	waiting, failed, skipped bool
}

func poolOf(replicas int32, record *hyperv1.NodePoolRepairStatus, machines []aMachine) *objects.Pool {
	p := &objects.Pool{NodePool: nodepooltest.NodePool()}
	p.NodePool.Spec.Replicas = ptr.To(replicas)
	p.NodePool.Status.Repair = record
	for _, spec := range machines {
		born := metav1.NewTime(noon.Add(-spec.age))
		m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: spec.name, CreationTimestamp: born}}
		m.Spec.InfrastructureRef.Name = spec.name
		instance := infrav1.AWSMachine{ObjectMeta: metav1.ObjectMeta{Name: spec.name}}
		if !spec.waiting {
			instance.Spec.InstanceID = ptr.To("i-" + spec.name)
			m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: born}}
		}
		if spec.failed {
			instance.Status.FailureReason = ptr.To("UpdateError")
		}
		if spec.node {
			m.Status.NodeRef.Name = spec.name
		}
		if spec.deleted {
			m.DeletionTimestamp = &born
		}
		if spec.skipped {
			m.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""}
		}
		p.Machines, p.AWSMachines = append(p.Machines, m), append(p.AWSMachines, instance)
	}
	return p
}

func TestPlanRepair(t *testing.T) {
	late := func(names ...string) (all []aMachine) {
		for _, name := range names {
			all = append(all, aMachine{name: name, age: 21 * time.Minute})
		}
		return all
	}
	record := func(attempts int32, ago time.Duration, machines ...string) *hyperv1.NodePoolRepairStatus {
		return &hyperv1.NodePoolRepairStatus{Attempts: attempts, LastTime: metav1.NewTime(noon.Add(-ago)), Machines: machines}
	}
	ten := late("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	for name, tc := range map[string]struct {
		replicas int32
		record   *hyperv1.NodePoolRepairStatus
		machines []aMachine
		replaced string
		attempts int32
		wait     time.Duration
	}{
		"machines that have joined stay":                                           {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, node: true}}},
		"a machine gets time to start":                                             {replicas: 1, machines: []aMachine{{name: "a", age: 19 * time.Minute}}, wait: time.Minute},
		"a late machine is replaced":                                               {replicas: 1, machines: late("a"), replaced: "a", attempts: 1, wait: time.Minute},
		"a fifth of a pool is replaced at once":                                    {replicas: 10, machines: ten, replaced: "a b", attempts: 1, wait: time.Minute},
		"the oldest is replaced first":                                             {replicas: 2, machines: append(late("a"), aMachine{name: "z", age: time.Hour}), replaced: "z", attempts: 1, wait: time.Minute},
		"no machine is replaced while another one starts":                          {replicas: 3, machines: append(late("a", "b"), aMachine{name: "c", age: time.Minute}), wait: time.Minute},
		"no machine is replaced while another one is being deleted":                {replicas: 3, machines: append(late("a", "b"), aMachine{name: "c", age: time.Hour, deleted: true}), wait: time.Minute},
		"the second replacement waits":                                             {replicas: 2, record: record(1, 10*time.Minute, "old"), machines: late("a"), attempts: 1, wait: time.Minute},
		"the second replacement follows after the back-off":                        {replicas: 2, record: record(1, 20*time.Minute, "old"), machines: late("a"), replaced: "a", attempts: 2, wait: time.Minute},
		"the third one waits twice as long":                                        {replicas: 2, record: record(2, 39*time.Minute, "old"), machines: late("a"), attempts: 2, wait: time.Minute},
		"the wait ends with the back-off":                                          {replicas: 2, record: record(2, 39*time.Minute+30*time.Second, "old"), machines: late("a"), attempts: 2, wait: 30 * time.Second},
		"a recorded machine is deleted after a crash":                              {replicas: 2, record: record(1, time.Second, "b"), machines: late("a", "b"), replaced: "b", attempts: 1, wait: time.Minute},
		"a later machine of a recorded name is not deleted for the record":         {replicas: 2, record: record(1, 30*time.Minute, "b"), machines: late("a", "b"), replaced: "a", attempts: 2, wait: time.Minute},
		"a machine that joins ends the back-off":                                   {replicas: 3, record: record(5, 30*time.Minute, "old"), machines: append(late("a"), aMachine{name: "new", age: 29 * time.Minute, node: true}), replaced: "a", attempts: 1, wait: time.Minute},
		"a machine that was created in the second of the record ends the back-off": {replicas: 3, record: record(5, 30*time.Minute, "old"), machines: append(late("a"), aMachine{name: "new", age: 30 * time.Minute, node: true}), replaced: "a", attempts: 1, wait: time.Minute},
		"a machine that was created before the record does not end the back-off":   {replicas: 3, record: record(5, 30*time.Minute, "old"), machines: append(late("a"), aMachine{name: "new", age: 31 * time.Minute, node: true}), attempts: 5, wait: time.Minute},
		"a machine without an instance is left to the AWS provider":                {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, waiting: true}}},
		"a machine that the AWS provider has given up is replaced":                 {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, waiting: true, failed: true}}, replaced: "a", attempts: 1, wait: time.Minute},
		"a machine that its user excludes from repair stays":                       {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, skipped: true}}},
		"at most ten machines of a large pool are replaced at once":                {replicas: 100, machines: append(ten, late("k", "l")...), replaced: "a b c d e f g h i j", attempts: 1, wait: time.Minute},
		"the record of a pool that has recovered is removed":                       {replicas: 1, record: record(2, time.Hour, "old"), machines: []aMachine{{name: "new", age: time.Minute, node: true}}},
		"the record stays until a new machine has a node":                          {replicas: 1, record: record(2, time.Hour, "old"), machines: []aMachine{{name: "new", age: time.Minute}}, attempts: 2, wait: 19 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planFor(poolOf(tc.replicas, tc.record, tc.machines), 20*time.Minute, noon)
			var replaced []string
			for _, m := range plan.replace {
				replaced = append(replaced, m.Name)
			}
			if got := strings.Join(replaced, " "); got != tc.replaced {
				t.Errorf("replaces %q, want %q", got, tc.replaced)
			}
			if got := ptr.Deref(plan.record, hyperv1.NodePoolRepairStatus{}).Attempts; got != tc.attempts {
				t.Errorf("%d attempts, want %d", got, tc.attempts)
			}
			if plan.RequeueAfter != tc.wait {
				t.Errorf("waits %s, want %s", plan.RequeueAfter, tc.wait)
			}
			if len(replaced) > 0 && !slices.Equal(plan.record.Machines, replaced) {
				t.Errorf("records %v", plan.record.Machines)
			}
		})
	}
}

func TestAMachineStartsWhenItsClusterIsReady(t *testing.T) {
	p := poolOf(1, nil, []aMachine{{name: "a", age: time.Hour}})
	p.Cluster = &clusterv1.Cluster{}
	p.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute))}}
	if plan := planFor(p, 20*time.Minute, noon); len(plan.replace) > 0 {
		t.Errorf("a machine is replaced a minute after it could join")
	}
}
