package router

import (
	"embed"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the router of a control plane.
var Component = component.Component[*target.ControlPlane]{
	Name:           names.Router,
	Assets:         assets,
	Wanted:         func(env *target.ControlPlane) bool { return len(served(env)) > 0 },
	RequestServing: true,
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("configmap.yaml", adaptConfig),
		component.On("deployment.yaml", adaptDeployment),
	},
	Reloads: []string{"ConfigMap/" + names.Router},
}

// configFile is the key of the ConfigMap.
const configFile = "haproxy.cfg"

func adaptConfig(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	cm.Data = map[string]string{configFile: configuration(served(env))}
	if env.Answers() {
		cm.Data[asleepFile] = configurationAsleep()
	}
	return nil
}
