package nodeconfig

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	netutils "k8s.io/utils/net"
)

// ClusterSettings are the settings of a HostedCluster that every node of the cluster gets with its user data. Mirrors of
// registries are part of the Config of each pool.
type ClusterSettings struct {
	// MachineNetworks, PodNetworks and ServiceNetworks are the networks of the cluster, in CIDR notation.
	MachineNetworks []string `json:"machineNetworks,omitempty"`
	PodNetworks     []string `json:"podNetworks,omitempty"`
	ServiceNetworks []string `json:"serviceNetworks,omitempty"`
	// Proxy is the proxy of kubelet and containerd.
	Proxy Proxy `json:"proxy,omitzero"`
	// TrustBundle has additional certificate authorities that kubelet and containerd trust, in PEM.
	TrustBundle Source `json:"trustBundle,omitzero"`
	// SSHKey lists the public keys, one a line, with which SSHUser may log in.
	SSHKey Source `json:"sshKey,omitzero"`
}

// A Proxy is how kubelet and containerd reach the Internet.
type Proxy struct {
	HTTP  string `json:"http,omitempty"`
	HTTPS string `json:"https,omitempty"`
	// NoProxy lists hosts and networks that are reached without the proxy, in addition to the cluster's.
	NoProxy string `json:"noProxy,omitempty"`
	// TrustedCA contains the proxy's certificate authorities, in PEM.
	TrustedCA Source `json:"trustedCA,omitzero"`
}

func (p Proxy) enabled() bool { return p.HTTP != "" || p.HTTPS != "" }

// hashed returns the settings that replace machines: the fields of the HostedCluster itself, such as the URL of a proxy or
// the name of a ConfigMap. New text in the same ConfigMap or Secret reaches new machines only (decision 0047).
//
// The names and the order of these fields are part of the hash. A field that is added must be left out where it is empty:
// otherwise an upgrade of the operator replaces the machines of every cluster. Without settings the result is empty.
func (c ClusterSettings) hashed() ([]string, error) {
	h := struct {
		HTTPProxy   string `json:"httpProxy,omitempty"`
		HTTPSProxy  string `json:"httpsProxy,omitempty"`
		NoProxy     string `json:"noProxy,omitempty"`
		ProxyTrust  string `json:"proxyTrust,omitempty"`
		TrustBundle string `json:"trustBundle,omitempty"`
		SSHKey      string `json:"sshKey,omitempty"`
	}{ProxyTrust: c.Proxy.TrustedCA.Name, TrustBundle: c.TrustBundle.Name, SSHKey: c.SSHKey.Name}
	if c.Proxy.enabled() {
		h.HTTPProxy, h.HTTPSProxy, h.NoProxy = c.Proxy.HTTP, c.Proxy.HTTPS, c.Proxy.NoProxy
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("hashing the cluster-wide node settings: %w", err)
	}
	if string(text) == "{}" {
		return nil, nil
	}
	return []string{string(text)}, nil
}

// dnsIndex is the position of the cluster DNS in each service network, by convention.
const dnsIndex = 10

// ClusterDNS returns the addresses of the cluster DNS.
func (c ClusterSettings) ClusterDNS() ([]string, error) {
	var addresses []string
	for _, cidr := range c.ServiceNetworks {
		_, subnet, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, err
		}
		ip, err := netutils.GetIndexedIP(subnet, dnsIndex)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, ip.String())
	}
	return addresses, nil
}

// SSHKeys returns the public keys with which SSHUser may log in.
func (c ClusterSettings) SSHKeys() []string {
	var keys []string
	for line := range strings.Lines(c.SSHKey.Text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	return keys
}

// trustBundle returns all additional certificate authorities, in PEM.
func (c ClusterSettings) trustBundle() []byte {
	var bundle []byte
	for _, source := range []Source{c.TrustBundle, c.Proxy.TrustedCA} {
		if text := strings.TrimSpace(source.Text); text != "" {
			bundle = append(append(bundle, text...), '\n')
		}
	}
	return bundle
}

// noProxy lists the hosts and networks that are reached without the proxy: the machine and its metadata, the networks of the
// cluster, the private endpoint of the control plane, and the user's additions. A public API server is reached through the proxy
// unless the user adds it.
func (c ClusterSettings) noProxy() string {
	hosts := []string{"localhost", "127.0.0.1", "169.254.169.254", ".svc", ".cluster.local", ".hypershift.local", ".internal"}
	hosts = slices.Concat(hosts, c.MachineNetworks, c.PodNetworks, c.ServiceNetworks)
	if more := strings.TrimSpace(c.Proxy.NoProxy); more != "" {
		hosts = append(hosts, more)
	}
	return strings.Join(hosts, ",")
}
