package router

import (
	"embed"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

//go:embed assets
var assets embed.FS

// Component is the router of a control plane.
var Component = component.Component[*target.ControlPlane]{
	Name:           names.Router,
	Assets:         assets,
	Wanted:         wanted,
	RequestServing: true,
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("configmap.yaml", adaptConfig),
		component.On("deployment.yaml", adaptDeployment),
	},
	Reloads: []string{"ConfigMap/" + names.Router},
}

// wanted is true as long as there is a Route, and a load balancer leads here. With the shared router, none does after the move to it.
func wanted(env *target.ControlPlane) bool {
	return len(served(env)) > 0 && (!sharedrouter.Serves(env.HCP) || env.Services[names.PrivateRouter] != nil || env.Services[names.Router] != nil)
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
