package component

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The priority classes of control planes, which are installed with the hypershift-operator. An asset names the first; the
// others follow from the role of a component.
const (
	etcdPriority         = "hypershift-etcd"
	apiCriticalPriority  = "hypershift-api-critical"
	ControlPlanePriority = "hypershift-control-plane"
)

// chosenPriorities are the annotations with which the user selects other classes.
var chosenPriorities = map[string]string{
	etcdPriority:         hyperv1.EtcdPriorityClassAnnotation,
	apiCriticalPriority:  hyperv1.APICriticalPriorityClassAnnotation,
	ControlPlanePriority: hyperv1.ControlPlanePriorityClassAnnotation,
}

// PriorityClasses returns the classes of pods without these annotations.
func PriorityClasses() []string {
	return []string{ControlPlanePriority, apiCriticalPriority, etcdPriority}
}

// PriorityAnnotations returns the annotations with which the user selects other classes.
func PriorityAnnotations() []string {
	return []string{hyperv1.ControlPlanePriorityClassAnnotation, hyperv1.APICriticalPriorityClassAnnotation, hyperv1.EtcdPriorityClassAnnotation}
}

// place sets the nodes and the priority of the pods.
func (c Component) place(env *Env, w *workload) {
	pod := w.pod()
	class := cmp.Or(pod.PriorityClassName, ControlPlanePriority)
	if c.RequestServing {
		class = cmp.Or(pod.PriorityClassName, apiCriticalPriority)
	}
	pod.PriorityClassName = cmp.Or(env.HCP.Annotations[chosenPriorities[class]], class)
	for k, v := range env.HCP.Spec.NodeSelector {
		pod.NodeSelector = with(pod.NodeSelector, k, string(v))
	}
	pod.Tolerations = append(pod.Tolerations, env.HCP.Spec.Tolerations...)
	if _, ok := w.Object.(*appsv1.Deployment); ok {
		LeaveDeadNodes(pod)
	}
	if w.count() > 1 {
		pod.TopologySpreadConstraints = spread(w)
	}
}

// deadAfter is how long, in seconds, pods stay on a node that is not ready. The node controller marks a node after most of a
// minute without heartbeat. With the default of five more minutes, half of a control plane would be missing for so long; a
// restarted kubelet or a switch needs less than one.
const deadAfter = 60

// LeaveDeadNodes makes the pods of a Deployment leave a node soon after it became unreachable, unless the user tolerates
// that. It does not change pods of a StatefulSet: those are replaced only once the node confirms that they have stopped, or
// once the Node is deleted. Deleting them earlier would only stop members whose kubelet was unreachable for a moment.
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

// spread distributes the pods of a component evenly over the eligible nodes, and over zones where nodes have zones. A node
// without a zone does not match a topology key that is required, and in some clusters no node has one. During a rollout, new
// pods of a Deployment are counted separately, so that the pods that they replace do not block them.
func spread(w *workload) []corev1.TopologySpreadConstraint {
	var out []corev1.TopologySpreadConstraint
	for _, over := range []struct {
		key  string
		must corev1.UnsatisfiableConstraintAction
	}{{corev1.LabelTopologyZone, corev1.ScheduleAnyway}, {corev1.LabelHostname, corev1.DoNotSchedule}} {
		out = append(out, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: over.key, WhenUnsatisfiable: over.must,
			LabelSelector:  &metav1.LabelSelector{MatchLabels: (*w.selector).MatchLabels},
			MatchLabelKeys: w.revision,
			// A lost zone or node has no pods, and the others must not wait for it.
			NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		})
	}
	return out
}
