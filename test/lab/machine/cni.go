package machine

import (
	"context"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// connectPods waits for the range of pod addresses that the cluster gives our node, which it reads as the kubelet may, and
// configures the bridge of the pods. Until then the node is not ready. The range stays the same for the life of the node.
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
			return false, nil //nolint:nilerr // not registered yet, or the API server is away
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
	if err := os.MkdirAll(a.path("ipam"), 0o755); err != nil {
		return err
	}
	return a.write(a.path("cni", "10-bridge.conflist"), "bridge.conflist", struct{ PodCIDR, IPAM string }{podCIDR, a.path("ipam")})
}
