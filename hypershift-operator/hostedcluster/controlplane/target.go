package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// The ports of all programs that the hypershift-operator runs.
const (
	MetricsPortName = "metrics"
	MetricsPort     = 8080
	HealthPortName  = "health"
	HealthPort      = 8081
)

// OperatorImage is the name of the image of the control-plane-operator, which contains its sidecars as well.
const OperatorImage = names.ControlPlaneOperator

// A Target is the target of the components that the hypershift-operator runs for a control plane: the
// control-plane-operator and Cluster API. Their assets contain their differences. Everything else is the same for all.
type Target struct {
	Namespace
	Pods PodSettings
	// Images maps the names of images in assets to their references.
	Images map[string]string
	// Autoscaling configures the cluster autoscaler.
	Autoscaling hyperv1.ClusterAutoscaling
	// AWS is nil on other platforms.
	AWS       *hyperv1.AWSPlatformSpec
	IssuerURL string
	// Egress are environment variables with the endpoints of AWS and the proxy of the management cluster; empty for the public ones.
	Egress []corev1.EnvVar
	// MetricsClientCA is the authority, PEM, of clients that may read metrics. If it is empty, no client may.
	MetricsClientCA []byte
	// RegistryOverrides replace registries of release images.
	RegistryOverrides release.Overrides
	// Profiling makes the control-plane-operator serve profiles on loopback.
	Profiling bool
	// SkipLoadBalancerChecks is true if the management cluster cannot reach load balancers.
	SkipLoadBalancerChecks bool
	// LoadBalancers configures the Services of type LoadBalancer of control planes.
	LoadBalancers loadbalancers.Settings
	// Stopped is true for programs without pods, because the hosted cluster sleeps.
	Stopped bool
	// ResyncPeriod is how often the control-plane-operator compares AWS with the desired state; 0 for its default.
	ResyncPeriod time.Duration
}

// PodSettings are the settings that the pods of one control plane share.
type PodSettings struct {
	Labels, NodeSelector map[string]hyperv1.LabelValue
	Tolerations          []corev1.Toleration
	PriorityClass        string
	Annotations          map[string]string
	// TrustBundle is whether the user has certificate authorities to mount.
	TrustBundle bool
	// MemoryFactor is the memory limit as a multiple of the request, 0 for no limit.
	MemoryFactor int64
	// MemoryMax is the largest memory limit of a container, 0 for no bound.
	MemoryMax resource.Quantity
	// Requests are annotations, among them those with which the user replaces requests of containers.
	Requests map[string]string
}

// Kinds lists the kinds of objects that components have or have ever had. The Deployments are first, so that programs are
// stopped before they lose their permissions.
func Kinds() []client.ObjectList {
	return []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}}
}

// Kinds are the kinds of objects that components have or have ever had.
func (*Target) Kinds() []client.ObjectList { return Kinds() }

// Image returns the reference of an image, or "" if it is not known.
func (t *Target) Image(name string) string { return t.Images[name] }

// Prepare sets the namespace.
func (t *Target) Prepare(_ component.Traits, obj client.Object) (wanted bool) {
	obj.SetNamespace(t.Name)
	obj.SetAnnotations(t.Annotations())
	// The hash of an applied object covers the type if it is set. Objects of earlier versions did not have it, and would be
	// written again.
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if b, ok := obj.(*rbacv1.RoleBinding); ok {
		for i := range b.Subjects {
			b.Subjects[i].Namespace = t.Name
		}
	}
	return true
}

// Finish sets the requests that the user has chosen.
func (t *Target) Finish(_ component.Traits, w *component.Workload, _ []client.Object) {
	component.OverrideRequests(w.GetName(), w.Pod(), t.Pods.Requests)
}

// Complete makes it a Deployment of one pod with restricted permissions, as the pod security level of the namespace
// requires. The name of the component is also the name of its service account.
func (t *Target) Complete(c component.Traits, w *component.Workload) error {
	labels := map[string]string{"app": c.Name}
	podLabels := plain(t.Pods.Labels)
	maps.Copy(podLabels, labels)
	podLabels[names.ManagementAccessLabel] = "true"
	*w.Replicas = ptr.To[int32](1)
	if t.Stopped {
		*w.Replicas = ptr.To[int32](0)
	}
	*w.Selector = &metav1.LabelSelector{MatchLabels: labels}
	w.Template.ObjectMeta = metav1.ObjectMeta{Labels: podLabels, Annotations: t.Pods.Annotations}
	if d, ok := w.Object.(*appsv1.Deployment); ok {
		// Two pods of Cluster API would do everything twice. Others would wait for the Lease of the first pod.
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	pod := w.Pod()
	pod.ServiceAccountName = c.Name
	pod.NodeSelector = plain(t.Pods.NodeSelector)
	pod.Tolerations = slices.Clone(t.Pods.Tolerations)
	component.LeaveDeadNodes(pod)
	pod.PriorityClassName = t.Pods.PriorityClass
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.PullSecret}}
	if t.Pods.TrustBundle {
		component.MountTrust(pod)
	}
	component.Restrict(pod)
	component.Bound(pod, t.Pods.MemoryFactor, t.Pods.MemoryMax)
	return nil
}

// Render returns the objects of the components, and separately their workloads, which mount other objects.
func Render(t *Target, components []component.Component[*Target]) (objs, workloads []client.Object, err error) {
	rendered := component.RenderAll(t, components...)
	for _, c := range components {
		if !slices.ContainsFunc(rendered, func(r component.Rendered) bool { return r.Name == c.Name }) {
			return nil, nil, fmt.Errorf("component %s: one of its images is not known", c.Name)
		}
	}
	for _, c := range rendered {
		if c.Err != nil {
			return nil, nil, c.Err
		}
		for _, obj := range c.Objects {
			if component.AsWorkload(obj) != nil {
				workloads = append(workloads, obj)
			} else {
				objs = append(objs, obj)
			}
		}
	}
	return objs, workloads, nil
}

func plain(in map[string]hyperv1.LabelValue) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = string(v)
	}
	return out
}

// InNamespace limits a program to the namespace of the control plane.
func (t *Target) InNamespace(c *corev1.Container) {
	c.Args = slices.Insert(c.Args, 0, "--namespace="+t.Name)
}
