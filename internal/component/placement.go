package component

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The priority classes of control planes, which are installed with the
// hypershift-operator. An asset names the first; the others follow from what a
// component does.
const (
	etcdPriority         = "hypershift-etcd"
	apiCriticalPriority  = "hypershift-api-critical"
	ControlPlanePriority = "hypershift-control-plane"
)

// chosenPriorities are the annotations by which the user has others.
var chosenPriorities = map[string]string{
	etcdPriority:         hyperv1.EtcdPriorityClassAnnotation,
	apiCriticalPriority:  hyperv1.APICriticalPriorityClassAnnotation,
	ControlPlanePriority: hyperv1.ControlPlanePriorityClassAnnotation,
}

// place says on which nodes the pods run, and who goes first.
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
	if w.count() > 1 {
		pod.TopologySpreadConstraints = spread(w)
	}
}

// spread keeps the pods of a component apart: evenly over the nodes that take
// any of them, however few those are, and over zones as far as there are any. A
// node without a zone takes no pod that must know its own, and whole clusters
// have such nodes only. While a Deployment is rolled out its new pods are counted
// by themselves: those that they replace must not stand in the way.
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
			// A zone or a node that is lost has none, and is not to be made up for.
			NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		})
	}
	return out
}
