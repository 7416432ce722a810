// Package imageregistrynode configures containerd on each node with the address of the cluster's image registry, and with the authority of its
// certificate. Nodes do not resolve names of the cluster. They need no restart: containerd reads these files with each pull.
package imageregistrynode

import (
	"embed"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component configures containerd.
var Component = component.Component[*target.HostedCluster]{
	Name:   names.ImageRegistry + "-node",
	Assets: assets,
	Wanted: imageregistry.Wanted,
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("configmap.yaml", adaptConfig),
	},
}

// hosts is the format of https://github.com/containerd/containerd/blob/main/docs/hosts.md.
const hosts = `server = "https://%[1]s"

[host."https://%[2]s"]
  capabilities = ["pull", "resolve"]
  ca = "/etc/containerd/certs.d/%[1]s/ca.crt"
`

func adaptConfig(t *target.HostedCluster, cm *corev1.ConfigMap) error {
	addresses, err := target.ImageRegistryAddress.In(t.HCP.Spec.Networking)
	if err != nil {
		return err
	}
	authorities, err := t.Authorities.Get()
	if err != nil {
		return err
	}
	address := addresses[0]
	if net.ParseIP(address).To4() == nil {
		address = "[" + address + "]"
	}
	cm.Data = map[string]string{"ca.crt": string(authorities), "hosts.toml": fmt.Sprintf(hosts, names.ImageRegistryHost, address)}
	return nil
}
