// Package coredns runs CoreDNS in a hosted cluster. It resolves the names of Services and pods.
package coredns

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

//go:embed assets
var assets embed.FS

// name is the name of the component and of its image.
const name = "coredns"

// Component is CoreDNS.
var Component = component.Component[*target.HostedCluster]{
	Name:   name,
	Assets: assets,
	Wanted: func(t *target.HostedCluster) bool { return t.Has(name) },
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("deployment.yaml", adaptDeployment),
		component.On("service.yaml", adaptService),
		component.Only("pdb.yaml", (*target.HostedCluster).HighlyAvailable), // a single pod could never be evicted
	},
}

func adaptDeployment(t *target.HostedCluster, d *appsv1.Deployment) error {
	d.Spec.Replicas = t.Replicas()
	return t.ConnectToAPI(&d.Spec.Template)
}

func adaptService(t *target.HostedCluster, service *corev1.Service) error {
	return target.DNSAddress.Set(t.HCP.Spec.Networking, service)
}
