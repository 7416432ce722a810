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

// PriorityClasses are those that pods of control planes have without an annotation.
func PriorityClasses() []string {
	return []string{ControlPlanePriority, apiCriticalPriority, etcdPriority}
}

// PriorityAnnotations are those by which the user has others.
func PriorityAnnotations() []string {
	return []string{hyperv1.ControlPlanePriorityClassAnnotation, hyperv1.APICriticalPriorityClassAnnotation, hyperv1.EtcdPriorityClassAnnotation}
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
	if _, ok := w.Object.(*appsv1.Deployment); ok {
		LeaveDeadNodes(pod)
	}
	if w.count() > 1 {
		pod.TopologySpreadConstraints = spread(w)
	}
}

// deadAfter is how long, in seconds, the pods of a node that is not ready stay
// there. It has been silent for most of a minute when it is called that. With the
// five minutes that Kubernetes gives by itself, half of a control plane is missing
// for so long; a kubelet that is started again, or a switch, is back in one.
const deadAfter = 60

// LeaveDeadNodes has the pods of a Deployment replaced soon after their node has
// gone silent, unless the user tolerates that. Not those of a StatefulSet: one
// that may still run is replaced only once its node says that it has ended, or
// once the Node is deleted, and to ask for it earlier would just stop members
// whose kubelet was away for a moment.
func LeaveDeadNodes(pod *corev1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerated := func(t corev1.Toleration) bool { // as Kubernetes asks before it adds its own
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(pod.Tolerations, tolerated) {
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](deadAfter),
			})
		}
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
