// Package controlplaneoperator runs the control-plane-operator of a hosted cluster.
package controlplaneoperator

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the control-plane-operator.
var Component = component.Component[*controlplane.Target]{
	Name:   names.ControlPlaneOperator,
	Assets: assets,
	Adapters: []component.Adapter[*controlplane.Target]{
		component.On("deployment.yaml", adaptDeployment),
	},
}

func adaptDeployment(t *controlplane.Target, d *appsv1.Deployment) error {
	c := component.Container(&d.Spec.Template.Spec, names.ControlPlaneOperator)
	t.InNamespace(c)
	c.Args = append(c.Args, "--image="+t.Image(controlplane.OperatorImage))
	if len(t.RegistryOverrides) > 0 {
		c.Args = append(c.Args, "--registry-overrides="+t.RegistryOverrides.String())
	}
	if t.SkipLoadBalancerChecks {
		c.Args = append(c.Args, "--check-load-balancers=false")
	}
	c.Args = append(c.Args, t.LoadBalancers.Args()...)
	if t.Profiling {
		c.Args = append(c.Args, "--profiling")
	}
	if t.ResyncPeriod != 0 && t.ResyncPeriod != awsx.ResyncPeriod {
		c.Args = append(c.Args, "--resync-period="+t.ResyncPeriod.String())
	}
	if len(t.MetricsClientCA) > 0 {
		c.Env = append(c.Env, corev1.EnvVar{Name: metricstls.ClientCA, Value: string(t.MetricsClientCA)})
	}
	if t.AWS != nil {
		c.Env = append(c.Env, corev1.EnvVar{Name: "AWS_REGION", Value: t.AWS.Region})
	}
	c.Env = append(c.Env, t.Egress...)
	return nil
}
