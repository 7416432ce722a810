// Package kubecontrollermanager runs the kube-controller-manager of a hosted cluster. Its pods also run the other controllers of the
// hosted cluster, which are clients of the same API server: a cluster costs one pod, and one address of a VPC, instead of four. See
// decision 0097.
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
