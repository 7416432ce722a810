// Package kubescheduler runs the kube-scheduler of a hosted cluster, in the pods of kube-controller-manager.
package kubescheduler

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the kube-scheduler.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.KubeScheduler,
	Assets: assets,
	In:     names.KubeControllerManager,
	// Without nodes it has nothing to choose from.
	Wanted: func(env *target.ControlPlane) bool { return env.ExpectsNodes },
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("config.yaml", adaptConfig),
		component.On("deployment.yaml", adaptDeployment),
	},
	// kube-scheduler checks its own certificate every minute.
	Reloads: []string{"Secret/scheduler-server-tls"},
}

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	gates, err := target.FeatureGates(env)
	c := component.Container(&d.Spec.Template.Spec, names.KubeScheduler)
	c.Args = append(c.Args, gates...)
	return err
}
