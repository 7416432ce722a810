package component

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The priority classes of control planes, which are installed with the hypershift-operator. An asset names the first; the
// others follow from the role of a component.
const (
	EtcdPriority         = "hypershift-etcd"
	APICriticalPriority  = "hypershift-api-critical"
	ControlPlanePriority = "hypershift-control-plane"
)

// PriorityClasses returns the classes of pods without these annotations.
func PriorityClasses() []string {
	return []string{ControlPlanePriority, APICriticalPriority, EtcdPriority}
}

// PriorityAnnotations returns the annotations with which the user selects other classes.
func PriorityAnnotations() []string {
	return []string{hyperv1.ControlPlanePriorityClassAnnotation, hyperv1.APICriticalPriorityClassAnnotation, hyperv1.EtcdPriorityClassAnnotation}
}

// deadAfter is how long, in seconds, pods stay on a node that is not ready. The node controller marks a node after most of a
// minute without heartbeat. With the default of five more minutes, half of a control plane would be missing for so long; a
// restarted kubelet or a switch needs less than one.
const deadAfter = 60

// LeaveDeadNodes makes the pods of a Deployment leave a node soon after it became unreachable, unless the user tolerates
// that. It does not change pods of a StatefulSet: those are replaced only once the node confirms that they have stopped, or
// once the Node is deleted. Deleting them earlier would stop members that were unreachable only for a moment.
func LeaveDeadNodes(pod *corev1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerated := func(t corev1.Toleration) bool { // as the admission plugin does before it adds its own
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(pod.Tolerations, tolerated) {
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](deadAfter),
			})
		}
	}
}
