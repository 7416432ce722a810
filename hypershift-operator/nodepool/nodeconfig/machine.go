package nodeconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// A Machine holds the differences between the machines of a pool; the rest of the user data is made from Inputs.
type Machine struct {
	// The Node registers with Labels and Taints.
	Labels map[string]string
	Taints []corev1.Taint
	// OnDemand is true for a node that Karpenter creates. It has no Machine, so Cluster API does not initialize it.
	OnDemand bool
	// Server is the URL of the API server, CA the certificate authority that verifies it, and Token the bootstrap token.
	Server, Token string
	CA            []byte
	// ClientCA is the certificate authority with which the kubelet verifies the API server as a client.
	ClientCA []byte
	// Advertised is the address and port at which pods of the node reach the API server.
	Advertised netip.AddrPort
}

// SSHUser is the user that may log in with the SSH keys of the HostedCluster.
const SSHUser = "core"

// kubeletServer returns the URL at which the kubelet reaches the API server: the address that the node forwards. When the
// address of the API server changes, only the forwarder restarts, and the node stays Ready. The forwarder does not use a
// proxy, so with a proxy it is the address itself.
func kubeletServer(in Inputs, m Machine) string {
	if in.Cluster.Proxy.enabled() {
		return m.Server
	}
	return "https://" + m.Advertised.String()
}

// bootstrapKubeconfig returns the kubeconfig with which the kubelet joins.
func bootstrapKubeconfig(in Inputs, m Machine) ([]byte, error) {
	const only = "node"
	text, err := yaml.Marshal(clientcmdapi.Config{
		APIVersion:     "v1",
		Kind:           "Config",
		Clusters:       []clientcmdapi.NamedCluster{{Name: only, Cluster: clientcmdapi.Cluster{Server: kubeletServer(in, m), CertificateAuthority: caFile}}},
		AuthInfos:      []clientcmdapi.NamedAuthInfo{{Name: only, AuthInfo: clientcmdapi.AuthInfo{Token: m.Token}}},
		Contexts:       []clientcmdapi.NamedContext{{Name: only, Context: clientcmdapi.Context{Cluster: only, AuthInfo: only}}},
		CurrentContext: only,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the bootstrap kubeconfig: %w", err)
	}
	return text, nil
}

// cipherSuites are the suites of TLS 1.2 that have forward secrecy and authenticated encryption. Go's default also has suites with
// CBC. The certificates of kubelets have ECDSA keys.
var cipherSuites = []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"}

// kubeletConfiguration returns the fields of the user, overridden by those that every node of a cluster must have. Users
// cannot set the latter; see reserved.
func kubeletConfiguration(in Inputs) ([]byte, error) {
	dns, err := in.Cluster.ClusterDNS()
	if err != nil {
		return nil, fmt.Errorf("computing the addresses of the cluster DNS: %w", err)
	}
	fields := map[string]any{"tlsCipherSuites": cipherSuites}
	maps.Copy(fields, in.Pool.Kubelet)
	maps.Copy(fields, map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"authentication":           map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": clientCAFile}},
		"authorization":            map[string]any{"mode": "Webhook"},
		"cgroupDriver":             "systemd",
		"clusterDNS":               dns,
		"clusterDomain":            "cluster.local",
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"rotateCertificates":       true,
		"serverTLSBootstrap":       true,
		"staticPodPath":            "/etc/kubernetes/manifests",
	})
	text, err := json.Marshal(fields)
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of the kubelet: %w", err)
	}
	return text, nil
}
