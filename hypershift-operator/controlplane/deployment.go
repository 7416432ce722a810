package controlplane

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

// The ports of all programs that the hypershift-operator runs.
const (
	MetricsPortName = "metrics"
	MetricsPort     = 8080
	HealthPortName  = "health"
	HealthPort      = 8081
)

// PodSettings are what the pods of one control plane have in common.
type PodSettings struct {
	Labels, NodeSelector map[string]hyperv1.LabelValue
	Tolerations          []corev1.Toleration
	PriorityClass        string
	Annotations          map[string]string
	// TrustBundle is whether the user has certificate authorities to mount.
	TrustBundle bool
	// MemoryFactor is the memory limit as a multiple of the request, 0 for no limit.
	MemoryFactor int64
}

// Account returns the service account of a program and its role in the namespace.
// The operator must have every permission of the role itself: otherwise the API
// server rejects the role as an escalation.
func Account(n Namespace, name string, role *rbacv1.Role) []client.Object {
	meta := n.ObjectMeta(name)
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: role.Rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: n.Name}},
		},
	}
}

// Deployment returns a Deployment of one pod with restricted permissions, as the
// pod security level of the namespace requires. Its name is also the name of its
// service account.
func Deployment(n Namespace, name string, settings PodSettings, pod corev1.PodSpec) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	podLabels := plain(settings.Labels)
	maps.Copy(podLabels, labels)
	podLabels[names.ManagementAccessLabel] = "true"
	pod.ServiceAccountName = name
	pod.NodeSelector = plain(settings.NodeSelector)
	pod.Tolerations = slices.Clone(settings.Tolerations)
	component.LeaveDeadNodes(&pod)
	pod.PriorityClassName = settings.PriorityClass
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.PullSecret}}
	if settings.TrustBundle {
		component.MountTrust(&pod)
	}
	component.Restrict(&pod)
	component.Bound(&pod, settings.MemoryFactor)
	return &appsv1.Deployment{
		ObjectMeta: n.ObjectMeta(name),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			// A second pod would only wait for the lease of the first one.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels, Annotations: settings.Annotations}, Spec: pod},
		},
	}
}

func plain(in map[string]hyperv1.LabelValue) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = string(v)
	}
	return out
}

// Probe returns an HTTP probe of the health port.
func Probe(path string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(HealthPortName)}}}
}

// Requests returns the measured needs of a program.
func Requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}}
}
