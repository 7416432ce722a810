package machine

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/lab/networkpolicy"
)

const (
	// podBridge is the bridge of the machine's pods.
	podBridge           = "cni0"
	networkPolicySocket = "/run/networkpolicy.sock"
)

// enforceNetworkPolicies starts before containerd. Pods that containerd restarts after a crash of the machine have no
// network until their policies are in effect.
func (a *agent) enforceNetworkPolicies(ctx context.Context) error {
	if !a.NetworkPolicies {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", a.path(NetworkPolicyKubeconfig))
	if err != nil {
		return fmt.Errorf("enforcing NetworkPolicies: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("enforcing NetworkPolicies: %w", err)
	}
	_, err = networkpolicy.Start(ctx, networkpolicy.Options{Node: a.Name, Bridge: podBridge, Client: client, Socket: networkPolicySocket, Log: a.log})
	return err
}

// SecondPodCIDR is the IPv6 range of pods that have podCIDR. The cluster has IPv4 only; the status of pods contains both
// addresses.
func SecondPodCIDR(podCIDR string) (string, error) {
	prefix, err := netip.ParsePrefix(podCIDR)
	if err != nil || !prefix.Addr().Is4() {
		return "", fmt.Errorf("the range of pod addresses %q is not one of IPv4", podCIDR)
	}
	four := prefix.Addr().As4()
	return fmt.Sprintf("fd00:%x%02x:%x%02x::/64", four[0], four[1], four[2], four[3]), nil
}
