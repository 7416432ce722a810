package component

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The priority classes of control planes, which are installed with the
// hypershift-operator. An asset names the first; the others follow from what a
// component does.
const (
	EtcdPriority         = "hypershift-etcd"
	apiCriticalPriority  = "hypershift-api-critical"
	controlPlanePriority = "hypershift-control-plane"
)

// chosenPriorities are the annotations by which the user has others.
var chosenPriorities = map[string]string{
	EtcdPriority:         hyperv1.EtcdPriorityClassAnnotation,
	apiCriticalPriority:  hyperv1.APICriticalPriorityClassAnnotation,
	controlPlanePriority: hyperv1.ControlPlanePriorityClassAnnotation,
}

// place says on which nodes the pods run, and who goes first.
func (c Component) place(env *Env, w *workload) {
	pod := w.pod()
	class := cmp.Or(pod.PriorityClassName, controlPlanePriority)
	if c.RequestServing {
		class = cmp.Or(pod.PriorityClassName, apiCriticalPriority)
	}
	pod.PriorityClassName = cmp.Or(env.HCP.Annotations[chosenPriorities[class]], class)
	for k, v := range env.HCP.Spec.NodeSelector {
		pod.NodeSelector = with(pod.NodeSelector, k, string(v))
	}
	pod.Tolerations = append(pod.Tolerations, env.HCP.Spec.Tolerations...)
	if w.count() > 1 {
		pod.TopologySpreadConstraints = spread(env.Zones, w)
	}
}

// spread keeps the pods of a component apart: in zones if there are enough of
// them, as well as it goes otherwise. While a new template is rolled out its
// pods are counted by themselves: those that it replaces must not stand in
// the way.
func spread(zones int, w *workload) []corev1.TopologySpreadConstraint {
	constraint := func(key string, unless corev1.UnsatisfiableConstraintAction) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: unless,
			LabelSelector:  &metav1.LabelSelector{MatchLabels: (*w.selector).MatchLabels},
			MatchLabelKeys: []string{w.revision},
		}
	}
	zone := corev1.ScheduleAnyway
	if zones >= int(w.count()) {
		zone = corev1.DoNotSchedule
	}
	return []corev1.TopologySpreadConstraint{
		constraint(corev1.LabelTopologyZone, zone),
		constraint(corev1.LabelHostname, corev1.ScheduleAnyway),
	}
}
