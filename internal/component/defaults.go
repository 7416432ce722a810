package component

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// appLabel selects the pods of a component, for its workload and for Services.
const appLabel = "app"

// ComponentLabel has the name of the component of an object or a pod.
const ComponentLabel = "hypershift.openshift.io/control-plane-component"

// ReleaseAnnotation is on a workload, and not on its pods: the version that it was last set to. An image that two releases
// share is not rolled out again.
const ReleaseAnnotation = "hypershift.openshift.io/release-version"

// begin sets the fields that adapters may rely on.
func (c Component) begin(env *Env, obj client.Object) {
	obj.SetNamespace(env.HCP.Namespace)
	obj.SetLabels(with(with(obj.GetLabels(), appLabel, c.Name), ComponentLabel, c.Name))
	if cluster := env.HCP.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		obj.SetAnnotations(with(obj.GetAnnotations(), hyperv1.HostedClusterAnnotation, cluster))
	}
	if budget, ok := obj.(*policyv1.PodDisruptionBudget); ok {
		defaultBudget(c.Name, budget)
	}
	w := asWorkload(obj)
	if w == nil {
		return
	}
	if *w.replicas == nil {
		*w.replicas = ptr.To(env.Replicas(c))
	}
	if w.template.Labels[appLabel] == "" {
		w.template.Labels = with(w.template.Labels, appLabel, c.Name)
	}
	w.template.Labels = with(w.template.Labels, ComponentLabel, c.Name)
	if *w.selector == nil {
		*w.selector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.template.Labels[appLabel]}}
	}
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

// finish sets the fields that all workloads have, after the adapters of all objects.
func (c Component) finish(env *Env, w *workload, objs []client.Object) error {
	if err := resolveImages(env, w.pod()); err != nil {
		return err
	}
	w.SetAnnotations(with(w.GetAnnotations(), ReleaseAnnotation, env.Release.Version))
	c.label(env, w)
	c.place(env, w)
	Restrict(w.pod())
	runAsNobody(w.pod())
	mountTmp(w.pod())
	Bound(w.pod(), memoryFactor(env.HCP))
	if d, ok := w.Object.(*appsv1.Deployment); ok {
		defaultStrategy(d)
	}
	pod := w.pod()
	keepLastWords(pod)
	pod.EnableServiceLinks = ptr.To(false)
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.PullSecret}}
	pod.AutomountServiceAccountToken = ptr.To(ptr.Deref(pod.AutomountServiceAccountToken, false))
	w.template.Annotations = with(w.template.Annotations, contentsAnnotation, contents(c, env, objs, pod))
	return nil
}

// label adds the labels of the user to the pods. They do not replace ours. Access to the management API server depends on the
// token of a pod only, never on labels of the user.
func (c Component) label(env *Env, w *workload) {
	labels := map[string]string{}
	for k, v := range env.HCP.Spec.Labels {
		labels[k] = string(v)
	}
	maps.Copy(labels, w.template.Labels)
	delete(labels, names.ManagementAccessLabel)
	if ptr.Deref(w.pod().AutomountServiceAccountToken, false) {
		labels[names.ManagementAccessLabel] = "true"
	}
	w.template.Labels = labels
	if date := env.HCP.Annotations[hyperv1.RestartDateAnnotation]; date != "" {
		w.template.Annotations = with(w.template.Annotations, hyperv1.RestartDateAnnotation, date)
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
