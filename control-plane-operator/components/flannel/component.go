// Package flannel runs the pod network of a release on the nodes of a hosted cluster: flannel, which connects the pods of
// different nodes through VXLAN.
//
// flannel takes the range of the node from the Node object, and announces the address of the node there. A second container
// configures the CNI plugins bridge, host-local and portmap of the node with that range. The CNI plugin of flannel does the
// same for each new pod, and would be one more program to install on nodes.
package flannel

import (
	"embed"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/podnetwork"
)

//go:embed assets
var assets embed.FS

// writeCNIConfig is the script that configures the CNI plugins of a node.
//
//go:embed cni-config.sh
var writeCNIConfig string

// Component is flannel.
var Component = component.Component[*target.HostedCluster]{
	Name:   podnetwork.Image,
	Assets: assets,
	Wanted: func(t *target.HostedCluster) bool {
		return t.HCP.Spec.Networking.UsesPodNetworkOfRelease() && t.Has(podnetwork.Image)
	},
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("daemonset.yaml", adaptDaemonSet),
		component.On("configmap.yaml", adaptConfig),
	},
}

func adaptDaemonSet(t *target.HostedCluster, ds *appsv1.DaemonSet) error {
	if err := t.ConnectToAPI(&ds.Spec.Template); err != nil {
		return err
	}
	// flannel reads its configuration once.
	config, err := configuration(t)
	if err != nil {
		return err
	}
	authorities, err := t.Authorities.Get()
	if err != nil {
		return err
	}
	target.RestartOn(&ds.Spec.Template, authorities, []byte(config), []byte(writeCNIConfig))
	return nil
}

func adaptConfig(t *target.HostedCluster, cm *corev1.ConfigMap) error {
	config, err := configuration(t)
	cm.Data = map[string]string{"net-conf.json": config, "cni-config.sh": writeCNIConfig}
	return err
}

// netConf is the configuration of flannel.
type netConf struct {
	EnableIPv4     bool
	Network        string `json:",omitempty"`
	EnableIPv6     bool
	IPv6Network    string `json:",omitempty"`
	EnableNFTables bool
	Backend        backend
}

type backend struct{ Type string }

func configuration(t *target.HostedCluster) (string, error) {
	ranges, err := podnetwork.RangesOf(t.HCP.Spec.Networking)
	if err != nil {
		return "", err
	}
	// kube-proxy uses nftables as well. With iptables, flannel would start a dozen programs every five seconds.
	config := netConf{EnableNFTables: true, Backend: backend{Type: "vxlan"}}
	if ranges.IPv4.IsValid() {
		config.EnableIPv4, config.Network = true, ranges.IPv4.String()
	}
	if ranges.IPv6.IsValid() {
		config.EnableIPv6, config.IPv6Network = true, ranges.IPv6.String()
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing the configuration of flannel: %w", err)
	}
	return string(text) + "\n", nil
}
