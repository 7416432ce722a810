package hostedcluster

import (
	"cmp"
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/leader"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureOperator runs the control-plane-operator in the control plane's namespace.
func (r *Reconciler) ensureOperator(ctx context.Context, s *scope) error {
	image, err := r.operatorImage(s)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.operatorSet(), r.desiredOperator(s, image)...)
	return err
}

// operatorImage returns the image of the control-plane-operator, which contains the
// token minter as well.
func (r *Reconciler) operatorImage(s *scope) (string, error) {
	image := r.ControlPlaneOperatorImage
	if r.AllowOperatorImageOverride {
		image = cmp.Or(s.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation], image)
	}
	if image == "" {
		return "", reconcile.Block(hyperv1.InvalidImageReason, "no image is known for the control-plane-operator: start the hypershift-operator with --control-plane-operator-image")
	}
	return image, nil
}

func (s *scope) operatorSet() apply.Set {
	return apply.Set{Name: setOperator, Namespace: s.plane.Name, Kinds: []client.ObjectList{
		&corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &appsv1.DeploymentList{},
	}}
}

// desiredOperator returns the objects in the order of their dependencies.
func (r *Reconciler) desiredOperator(s *scope, image string) []client.Object {
	pod := corev1.PodSpec{Containers: []corev1.Container{r.operatorContainer(s, image)}}
	return append(controlplane.Account(s.plane, names.ControlPlaneOperator, rbac.ControlPlaneOperatorRole()), controlplane.Deployment(s.plane, names.ControlPlaneOperator, s.podSettings(), pod))
}

func (r *Reconciler) operatorContainer(s *scope, image string) corev1.Container {
	c := corev1.Container{
		Name:    names.ControlPlaneOperator,
		Image:   image,
		Command: []string{"control-plane-operator"},
		Args: []string{
			"--namespace=" + s.plane.Name,
			"--metrics-addr=:8080",
			"--health-addr=:8081",
			"--image=" + image,
		},
		Env: []corev1.EnvVar{{Name: leader.PodName, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		Ports: []corev1.ContainerPort{
			{Name: controlplane.MetricsPortName, ContainerPort: controlplane.MetricsPort},
			{Name: controlplane.HealthPortName, ContainerPort: controlplane.HealthPort},
		},
		ReadinessProbe: controlplane.Probe("/readyz"),
		LivenessProbe:  controlplane.Probe("/healthz"),
		Resources:      controlplane.Requests("10m", "60Mi"),
	}
	if len(r.MetricsClientCA) > 0 {
		c.Env = append(c.Env, corev1.EnvVar{Name: metricstls.ClientCA, Value: string(r.MetricsClientCA)})
	}
	if len(r.RegistryOverrides) > 0 {
		c.Args = append(c.Args, "--registry-overrides="+r.RegistryOverrides.String())
	}
	if r.SkipLoadBalancerChecks {
		c.Args = append(c.Args, "--check-load-balancers=false")
	}
	if aws := s.aws(); aws != nil {
		c.Env = append(c.Env, corev1.EnvVar{Name: "AWS_REGION", Value: aws.Region})
		c.Env = append(c.Env, r.AWSEndpoints...)
	}
	return c
}
