package machine

import (
	"context"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/lab/networkpolicy"
)

// connectPods waits for the pod range of the node, with the permissions of the kubelet, and configures the bridge of the
// pods. Until then the node is not ready. The range is fixed for the life of the node.
func (a *agent) connectPods(ctx context.Context) error {
	var podCIDR string
	err := until(ctx, func() (bool, error) {
		config, err := clientcmd.BuildConfigFromFlags("", a.path(kubeletKubeconfig))
		if err != nil {
			return false, nil //nolint:nilerr // the kubelet writes the file when it has joined
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return false, fmt.Errorf("reading our node: %w", err)
		}
		node, err := client.CoreV1().Nodes().Get(ctx, a.Name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // not registered yet, or the API server is not reachable
		}
		podCIDR = node.Spec.PodCIDR
		return podCIDR != "", nil
	})
	if err != nil {
		return err
	}
	a.log.Info("The node has its pod addresses", "podCIDR", podCIDR)
	return a.configureBridge(podCIDR)
}

func (a *agent) configureBridge(podCIDR string) error {
	ipam := a.path("ipam")
	if err := os.MkdirAll(ipam, 0o755); err != nil {
		return err
	}
	data := struct {
		Bridge, PodCIDR, SecondPodCIDR, IPAM, Plugin, Socket string
	}{Bridge: podBridge, PodCIDR: podCIDR, IPAM: ipam}
	if a.NetworkPolicies {
		data.Plugin, data.Socket = networkpolicy.PluginName, networkPolicySocket
		var err error
		if data.SecondPodCIDR, err = SecondPodCIDR(podCIDR); err != nil {
			return err
		}
	}
	return a.write(a.path("cni", "10-bridge.conflist"), "bridge.conflist", data)
}
