package clusterconditions

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// asleep reports whether the cluster sleeps, and what it still costs.
func asleep(f *Facts) metav1.Condition {
	phase := f.Sleep.Phase
	if f.Paused || f.deleting() {
		phase = f.ControlPlane.SleepPhase() // no other is recorded
	}
	switch {
	case phase == hyperv1.SleepPhaseAsleep:
		return f.inSleep()
	case phase == hyperv1.SleepPhaseRemovingMachines:
		return f.is(metav1.ConditionFalse, hyperv1.FallingAsleepReason, f.faulty("waiting until these machines are drained and deleted: "+strings.Join(f.Machines, ", ")))
	case phase == hyperv1.SleepPhaseWaking:
		return f.is(metav1.ConditionFalse, hyperv1.WakingReason, f.faulty("the control plane starts"))
	case f.deleting():
		return absent
	case f.Sleep.Fault != "":
		return f.is(metav1.ConditionFalse, hyperv1.InvalidSleepReason, f.Sleep.Fault)
	case f.Sleep.Wanted && f.Paused:
		return f.is(metav1.ConditionFalse, hyperv1.AwakeReason, "the cluster does not fall asleep while spec.pausedUntil stops changes")
	case f.Sleep.Wanted:
		return f.is(metav1.ConditionFalse, hyperv1.AwakeReason, "the cluster falls asleep after it has been available for the first time")
	case f.Sleep.Configured:
		return f.is(metav1.ConditionFalse, hyperv1.AwakeReason, "the cluster is awake")
	}
	return absent
}

// inSleep reports a control plane that has no pods, or loses them.
func (f *Facts) inSleep() metav1.Condition {
	reported := f.reported(hyperv1.HostedClusterAsleep)
	switch {
	case reported == nil:
		return f.is(metav1.ConditionFalse, hyperv1.FallingAsleepReason, f.faulty("waiting for the first report of the control-plane-operator"))
	case reported.Status != metav1.ConditionTrue:
		return f.is(metav1.ConditionFalse, reported.Reason, f.faulty(reported.Message))
	}
	reason := hyperv1.AsleepReason
	if f.Sleep.Fault != "" {
		reason = hyperv1.InvalidSleepReason
	}
	return f.is(metav1.ConditionTrue, reason, f.faulty("what still costs: "+f.costs(reported.Message)))
}

// costs lists what a sleeping cluster costs. The control-plane-operator knows volumes and load balancers.
func (f *Facts) costs(ofControlPlane string) string {
	costs := []string{ofControlPlane}
	var endpoints []string
	for i := range f.Endpoints {
		endpoints = append(endpoints, f.Endpoints[i].Name)
	}
	if len(endpoints) > 0 {
		costs = append(costs, "PrivateLink endpoints: "+strings.Join(endpoints, ", "))
	}
	if len(f.Machines) > 0 {
		costs = append(costs, fmt.Sprintf("%d machines: %s", len(f.Machines), strings.Join(f.Machines, ", ")))
	}
	if f.HostedCluster.Spec.AutoNode.Karpenter() != nil {
		costs = append(costs, "nodes on demand")
	}
	return strings.Join(append(costs, "the control-plane-operator", "volumes and load balancers of workloads"), "; ")
}

// faulty adds what is wrong with an annotation, and that no program acts on the change.
func (f *Facts) faulty(message string) string {
	for _, problem := range []string{f.Sleep.Fault, f.OperatorProblem} {
		if problem != "" {
			message += "; " + problem
		}
	}
	return message
}

// sleeps reports whether the cluster sleeps.
func (f *Facts) sleeps() bool {
	return f.condition(hyperv1.HostedClusterAsleep).Status == metav1.ConditionTrue
}

// notAwake is the condition that cannot be True while the cluster sleeps.
func (f *Facts) notAwake() metav1.Condition {
	if f.Sleep.Restore {
		return f.is(metav1.ConditionFalse, hyperv1.AsleepReason, "the control plane has stopped for an EtcdRestore, and starts again with the data of the backup")
	}
	return f.is(metav1.ConditionFalse, hyperv1.AsleepReason, "the cluster sleeps: set annotation "+hyperv1.SleepAnnotation+` to "false" to wake it`)
}
