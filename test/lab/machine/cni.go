package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
		config, err := clientcmd.BuildConfigFromFlags("", a.places().kubeconfig)
		if err != nil {
			return false, nil //nolint:nilerr // the kubelet writes the file when it has joined
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return false, fmt.Errorf("reading our node: %w", err)
		}
		node, err := client.CoreV1().Nodes().Get(ctx, a.places().node, metav1.GetOptions{})
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

// places are the paths of a machine's components, and the name of its node.
type places struct {
	node, kubeconfig, cni, ipam string
	// masquerade translates the addresses of pods when they connect to anything outside of the machine.
	masquerade bool
}

func (a *agent) places() places {
	if a.Instance == nil {
		return places{node: a.Name, kubeconfig: a.path(kubeletKubeconfig), cni: a.path("cni"), ipam: a.path("ipam")}
	}
	// A VPC does not route addresses of pods.
	return places{node: a.Instance.Hostname, kubeconfig: joinedKubeconfig, cni: imageCNI, ipam: imageIPAM, masquerade: true}
}

func (a *agent) configureBridge(podCIDR string) error {
	p := a.places()
	if err := os.MkdirAll(p.ipam, 0o755); err != nil {
		return err
	}
	data := struct {
		Bridge, PodCIDR, SecondPodCIDR, IPAM, Plugin, Socket string
		Masquerade                                           bool
	}{Bridge: podBridge, PodCIDR: podCIDR, IPAM: p.ipam, Masquerade: p.masquerade}
	if a.NetworkPolicies {
		data.Plugin, data.Socket = networkpolicy.PluginName, networkPolicySocket
		var err error
		if data.SecondPodCIDR, err = secondPodCIDR(podCIDR); err != nil {
			return err
		}
	}
	if err := a.write(filepath.Join(p.cni, "10-bridge.conflist"), "bridge.conflist", data); err != nil {
		return err
	}
	return os.WriteFile(a.path(PodRange), []byte(podCIDR), 0o644)
}
