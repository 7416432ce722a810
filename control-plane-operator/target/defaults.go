package target

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// appLabel selects the pods of a component, for its workload and for Services.
const appLabel = "app"

// Kinds are the kinds of objects that components have or have ever had.
func (*ControlPlane) Kinds() []client.ObjectList { return Kinds() }

// Kinds lists the kinds of objects that the components of a control plane have or have ever had.
func Kinds() []client.ObjectList {
	return []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.SecretList{},
		&policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
	}
}

// Prepare sets the fields that adapters may rely on. A budget for a single pod is not wanted: the pod could never be evicted.
func (p *ControlPlane) Prepare(c component.Traits, obj client.Object) (wanted bool) {
	if _, isBudget := obj.(*policyv1.PodDisruptionBudget); isBudget && !p.HighlyAvailable() {
		return false
	}
	obj.SetNamespace(p.HCP.Namespace)
	obj.SetLabels(with(with(obj.GetLabels(), appLabel, c.Name), component.ComponentLabel, c.Name))
	if cluster := p.HCP.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		obj.SetAnnotations(with(obj.GetAnnotations(), hyperv1.HostedClusterAnnotation, cluster))
	}
	if budget, ok := obj.(*policyv1.PodDisruptionBudget); ok {
		defaultBudget(c.Name, budget)
	}
	w := component.AsWorkload(obj)
	if w == nil {
		return true
	}
	if *w.Replicas == nil {
		*w.Replicas = ptr.To(p.replicas(c))
	}
	if w.Template.Labels[appLabel] == "" {
		w.Template.Labels = with(w.Template.Labels, appLabel, c.Name)
	}
	w.Template.Labels = with(w.Template.Labels, component.ComponentLabel, c.Name)
	if *w.Selector == nil {
		*w.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.Template.Labels[appLabel]}}
	}
	return true
}

// defaultBudget allows the eviction of one pod at a time, and always of a broken one.
func defaultBudget(app string, budget *policyv1.PodDisruptionBudget) {
	if budget.Spec.Selector == nil {
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: app}}
	}
	if budget.Spec.MaxUnavailable == nil && budget.Spec.MinAvailable == nil {
		budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	}
	budget.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
}

// Finish sets the requests that the user has chosen, a directory /tmp, and the hash of the contents that the component mounts.
func (p *ControlPlane) Finish(c component.Traits, w *component.Workload, objs []client.Object) {
	mountTmp(w.Pod())
	component.OverrideRequests(w.GetName(), w.Pod(), p.HCP.Annotations)
	w.Template.Annotations = with(w.Template.Annotations, contentsAnnotation, p.contents(c, objs, w.Pod()))
}

// Complete sets the fields that all workloads have.
func (p *ControlPlane) Complete(c component.Traits, w *component.Workload) error {
	w.SetAnnotations(with(w.GetAnnotations(), component.ReleaseAnnotation, p.Release.Version))
	p.label(w)
	p.place(c, w)
	component.Restrict(w.Pod())
	runAsNobody(w.Pod())
	component.Bound(w.Pod(), memoryFactor(p.HCP), mostMemory(p.HCP))
	if d, ok := w.Object.(*appsv1.Deployment); ok {
		defaultStrategy(d)
	}
	pod := w.Pod()
	keepLastWords(pod)
	pod.EnableServiceLinks = ptr.To(false)
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.PullSecret}}
	pod.AutomountServiceAccountToken = ptr.To(ptr.Deref(pod.AutomountServiceAccountToken, false))
	p.mountShared(pod)
	if p.HCP.Sleeps() && w.Replicas != nil {
		p.stop(c, w)
	}
	return nil
}

// label adds the labels of the user to the pods. They do not replace ours. Access to the management API server depends on the
// token of a pod only, never on labels of the user.
func (p *ControlPlane) label(w *component.Workload) {
	labels := map[string]string{}
	for k, v := range p.HCP.Spec.Labels {
		labels[k] = string(v)
	}
	maps.Copy(labels, w.Template.Labels)
	delete(labels, names.ManagementAccessLabel)
	if ptr.Deref(w.Pod().AutomountServiceAccountToken, false) {
		labels[names.ManagementAccessLabel] = "true"
	}
	w.Template.Labels = labels
	if date := p.HCP.Annotations[hyperv1.RestartDateAnnotation]; date != "" {
		w.Template.Annotations = with(w.Template.Annotations, hyperv1.RestartDateAnnotation, date)
	}
}

// keepLastWords sets the termination message of the containers to the last log lines of a failed program.
func keepLastWords(pod *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		}
	}
}

// defaultStrategy starts a new pod before it stops an old one, so that the number of pods does not decrease.
func defaultStrategy(d *appsv1.Deployment) {
	if d.Spec.Strategy.Type == "" && d.Spec.Strategy.RollingUpdate == nil {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))},
		}
	}
	if d.Spec.RevisionHistoryLimit == nil {
		d.Spec.RevisionHistoryLimit = ptr.To[int32](2)
	}
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
