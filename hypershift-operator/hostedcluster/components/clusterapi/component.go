// Package clusterapi runs the core of Cluster API for the machines of a hosted cluster.
package clusterapi

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the core of Cluster API.
var Component = component.Component[*controlplane.Target]{
	Name:   names.ClusterAPI,
	Assets: assets,
	Adapters: []component.Adapter[*controlplane.Target]{
		component.On("deployment.yaml", adaptDeployment),
	},
}

func adaptDeployment(t *controlplane.Target, d *appsv1.Deployment) error {
	t.InNamespace(component.Container(&d.Spec.Template.Spec, "manager"))
	return nil
}
