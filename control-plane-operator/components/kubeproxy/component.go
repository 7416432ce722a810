// Package kubeproxy runs kube-proxy on the nodes of a hosted cluster. It routes connections to Services to their pods.
package kubeproxy

import (
	"embed"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

//go:embed assets
var assets embed.FS

// name is the name of the component and of its image.
const name = "kube-proxy"

// Component is kube-proxy.
var Component = component.Component[*target.HostedCluster]{
	Name:   name,
	Assets: assets,
	Wanted: func(t *target.HostedCluster) bool { return t.Has(name) },
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("daemonset.yaml", func(t *target.HostedCluster, ds *appsv1.DaemonSet) error { return t.ConnectToAPI(&ds.Spec.Template) }),
		component.On("configmap.yaml", adaptConfig),
	},
}

func adaptConfig(t *target.HostedCluster, cm *corev1.ConfigMap) error {
	config, err := configuration(t.HCP.Spec.Networking)
	cm.Data = map[string]string{"config.yaml": config}
	return err
}

// configuration returns kube-proxy's configuration. kube-proxy exits when it changes, and restarts with the new
// one.
func configuration(n hyperv1.ClusterNetworking) (string, error) {
	var pods []string
	for _, e := range n.ClusterNetwork {
		pods = append(pods, e.CIDR)
	}
	config := map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
		"kind":       "KubeProxyConfiguration",
		"mode":       "nftables",
		// Current kernels have good defaults, and a node in a container may not change them.
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	}
	if len(pods) > 0 {
		config["detectLocalMode"], config["clusterCIDR"] = "ClusterCIDR", strings.Join(pods, ",")
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("writing the configuration of kube-proxy: %w", err)
	}
	return string(text), nil
}
