// Package kubecontrollermanager runs the kube-controller-manager of a hosted cluster.
package kubecontrollermanager

import (
	"embed"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the kube-controller-manager.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.KubeControllerManager,
	Assets: assets,
	After:  []string{names.KubeAPIServer},
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("deployment.yaml", adaptDeployment),
	},
	// kube-controller-manager checks its own certificate and the signer's every minute. It distributes the root
	// certificates as they were when it started.
	Reloads: []string{"Secret/kcm-server-tls", "Secret/cluster-signer-ca"},
}
