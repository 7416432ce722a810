package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	if err := os.WriteFile(a.path(PodRange), []byte(podCIDR), 0o644); err != nil {
		return err
	}
	if a.Instance != nil {
		if err := until(ctx, func() (bool, error) { return exists(a.path(PodsRouted)) }); err != nil {
			return err
		}
	}
	return a.configureBridge(podCIDR)
}

// exists reports whether there is a file.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// places are the paths of a machine's components, and the name of its node.
type places struct {
	node, kubeconfig, cni, ipam string
}

func (a *agent) places() places {
	if a.Instance == nil {
		return places{node: a.Name, kubeconfig: a.path(kubeletKubeconfig), cni: a.path("cni"), ipam: a.path("ipam")}
	}
	return places{node: a.Instance.Hostname, kubeconfig: joinedKubeconfig, cni: imageCNI, ipam: imageIPAM}
}

func (a *agent) configureBridge(podCIDR string) error {
	p := a.places()
	if err := os.MkdirAll(p.ipam, 0o755); err != nil {
		return err
	}
	data := struct {
		Bridge, PodCIDR, SecondPodCIDR, IPAM, Plugin, Socket string
	}{Bridge: podBridge, PodCIDR: podCIDR, IPAM: p.ipam}
	if a.NetworkPolicies {
		data.Plugin, data.Socket = networkpolicy.PluginName, networkPolicySocket
		var err error
		if data.SecondPodCIDR, err = SecondPodCIDR(podCIDR); err != nil {
			return err
		}
	}
	return a.write(filepath.Join(p.cni, "10-bridge.conflist"), "bridge.conflist", data)
}
