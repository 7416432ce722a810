package hostedcluster

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// The ports of all programs of ours.
const (
	metricsPortName = "metrics"
	metricsPort     = 8080
	healthPortName  = "health"
	healthPort      = 8081
)

// account is who a program is and what it may do in the namespace. We must hold
// every one of the permissions ourselves, or the API server does not let us hand
// it on.
func account(s *scope, name string, role *rbacv1.Role) []client.Object {
	meta := metav1.ObjectMeta{Namespace: s.controlPlane, Name: name, Annotations: s.ownerAnnotations()}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: role.Rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: s.controlPlane}},
		},
	}
}

func desiredDeployment(s *scope, name string, pod corev1.PodSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.controlPlane, Name: name, Annotations: s.ownerAnnotations()},
		Spec:       deployment(s, name, pod),
	}
}

// deployment runs one pod, of which there is one at a time and which does nothing
// special: the namespace would not let it in. Its name is that of its service account, too.
func deployment(s *scope, name string, pod corev1.PodSpec) appsv1.DeploymentSpec {
	labels := map[string]string{"app": name}
	podLabels := plain(s.hc.Spec.Labels)
	maps.Copy(podLabels, labels)
	podLabels[names.ManagementAccessLabel] = "true"
	pod.ServiceAccountName = name
	pod.NodeSelector = plain(s.hc.Spec.NodeSelector)
	pod.Tolerations = slices.Clone(s.hc.Spec.Tolerations)
	component.LeaveDeadNodes(&pod)
	pod.PriorityClassName = priorityClass(s.hc)
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.PullSecret}}
	if s.trust != "" {
		component.MountTrust(&pod)
	}
	component.Restrict(&pod)
	component.Bound(&pod, s.memoryFactor)
	return appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		// Two at once would only wait for each other's lease.
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels, Annotations: s.podAnnotations()}, Spec: pod},
	}
}

// plain is a map of labels as pods take it.
func plain(in map[string]hyperv1.LabelValue) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = string(v)
	}
	return out
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(healthPortName)}}}
}

// requests are what a program was measured to need.
func requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}}
}
