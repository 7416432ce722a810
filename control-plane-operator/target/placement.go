package target

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// chosenPriorities are the annotations with which the user selects other classes.
var chosenPriorities = map[string]string{
	component.EtcdPriority:         hyperv1.EtcdPriorityClassAnnotation,
	component.APICriticalPriority:  hyperv1.APICriticalPriorityClassAnnotation,
	component.ControlPlanePriority: hyperv1.ControlPlanePriorityClassAnnotation,
}

// place sets the nodes and the priority of the pods.
func (p *ControlPlane) place(c component.Traits, w *component.Workload) {
	pod := w.Pod()
	class := cmp.Or(pod.PriorityClassName, component.ControlPlanePriority)
	if c.RequestServing {
		class = cmp.Or(pod.PriorityClassName, component.APICriticalPriority)
	}
	pod.PriorityClassName = cmp.Or(p.HCP.Annotations[chosenPriorities[class]], class)
	for k, v := range p.HCP.Spec.NodeSelector {
		pod.NodeSelector = with(pod.NodeSelector, k, string(v))
	}
	pod.Tolerations = append(pod.Tolerations, p.HCP.Spec.Tolerations...)
	if _, ok := w.Object.(*appsv1.Deployment); ok {
		component.LeaveDeadNodes(pod)
	}
	if **w.Replicas > 1 {
		pod.TopologySpreadConstraints = spread(w)
	}
}

// spread distributes the pods of a component evenly over the eligible nodes, and over zones where nodes have zones. A node
// without a zone does not match a topology key that is required, and in some clusters no node has one. During a rollout, new
// pods of a Deployment are counted separately, so that the pods that they replace do not block them.
func spread(w *component.Workload) []corev1.TopologySpreadConstraint {
	var out []corev1.TopologySpreadConstraint
	for _, over := range []struct {
		key  string
		must corev1.UnsatisfiableConstraintAction
	}{{corev1.LabelTopologyZone, corev1.ScheduleAnyway}, {corev1.LabelHostname, corev1.DoNotSchedule}} {
		out = append(out, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: over.key, WhenUnsatisfiable: over.must,
			LabelSelector:  &metav1.LabelSelector{MatchLabels: (*w.Selector).MatchLabels},
			MatchLabelKeys: w.RevisionLabels,
			// A lost zone or node has no pods, and the others must not wait for it.
			NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		})
	}
	return out
}
