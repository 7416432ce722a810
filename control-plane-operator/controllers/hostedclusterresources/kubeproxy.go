package hostedclusterresources

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// kubeProxy routes connections to Services to their pods on every node.
var kubeProxy = part{
	name:      "kube-proxy",
	namespace: metav1.NamespaceSystem,
	kinds:     []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &appsv1.DaemonSetList{}},
	desired:   desiredKubeProxy,
}

const kubeProxyImage = "kube-proxy"

func desiredKubeProxy(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
	image, err := r.image(ctx, s, kubeProxyImage)
	if err != nil || image == "" {
		return nil, err
	}
	at, err := awaitAPIHost(s.hcp)
	if err != nil {
		return nil, err
	}
	believed, err := r.believed(ctx, s)
	if err != nil {
		return nil, err
	}
	objs, err := assets("kube-proxy.yaml")
	if err != nil {
		return nil, err
	}
	config, err := kubeProxyConfiguration(s.hcp.Spec.Networking)
	if err != nil {
		return nil, err
	}
	one[*corev1.ConfigMap](objs).Data = map[string]string{"config.yaml": config}
	run(&one[*appsv1.DaemonSet](objs).Spec.Template, image, at, believed)
	return objs, nil
}

// kubeProxyConfiguration returns kube-proxy's configuration. kube-proxy exits when it changes, and restarts with the new
// one.
func kubeProxyConfiguration(n hyperv1.ClusterNetworking) (string, error) {
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
