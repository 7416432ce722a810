package hostedcluster

import (
	"cmp"
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// ensureOperator runs the control-plane-operator beside the control plane.
func (r *Reconciler) ensureOperator(ctx context.Context, s *scope) error {
	image := r.ControlPlaneOperatorImage
	if r.AllowOperatorImageOverride {
		image = cmp.Or(s.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation], image)
	}
	if image == "" {
		return flow.Block(hyperv1.InvalidImageReason, "no image is known for the control-plane-operator: start the hypershift-operator with --control-plane-operator-image")
	}
	_, err := r.apply.Apply(ctx, s.operatorSet(), desiredOperator(s, image)...)
	return err
}

func (s *scope) operatorSet() apply.Set {
	return apply.Set{Name: setOperator, Namespace: s.controlPlane, Kinds: []client.ObjectList{
		&corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &appsv1.DeploymentList{},
	}}
}

// desiredOperator is in the order in which the parts need each other. Of the
// permissions we must hold every one ourselves, or the API server does not let
// us hand it on.
func desiredOperator(s *scope, image string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: s.controlPlane, Name: names.ControlPlaneOperator, Annotations: s.ownerAnnotations()}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: rbac.ControlPlaneOperatorRole().Rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}},
		},
		&appsv1.Deployment{ObjectMeta: meta, Spec: operatorDeployment(s, image)},
	}
}

const (
	metricsPort = 8080
	healthPort  = 8081
)

func operatorDeployment(s *scope, image string) appsv1.DeploymentSpec {
	labels := map[string]string{"app": names.ControlPlaneOperator}
	podLabels := plain(s.hc.Spec.Labels)
	maps.Copy(podLabels, labels)
	return appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		// Two at once would only wait for each other's lease.
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
			Spec: corev1.PodSpec{
				ServiceAccountName: names.ControlPlaneOperator,
				NodeSelector:       plain(s.hc.Spec.NodeSelector),
				Tolerations:        s.hc.Spec.Tolerations,
				ImagePullSecrets:   []corev1.LocalObjectReference{{Name: names.PullSecret}},
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot:   ptr.To(true),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{operatorContainer(s, image)},
			},
		},
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

func operatorContainer(s *scope, image string) corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("health")}}}
	}
	c := corev1.Container{
		Name:    names.ControlPlaneOperator,
		Image:   image,
		Command: []string{"control-plane-operator"},
		Args: []string{
			"--namespace=" + s.controlPlane,
			"--metrics-addr=:8080",
			"--health-addr=:8081",
		},
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: metricsPort},
			{Name: "health", ContainerPort: healthPort},
		},
		ReadinessProbe: probe("/readyz"),
		LivenessProbe:  probe("/healthz"),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("60Mi"),
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	if aws := s.aws(); aws != nil {
		c.Env = append(c.Env, corev1.EnvVar{Name: "AWS_REGION", Value: aws.Region})
	}
	return c
}
