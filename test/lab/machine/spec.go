package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Spec is the configuration of a machine.
type Spec struct {
	Name string `json:"name"`
	// Lab is the directory of the lab, Dir the machine's directory in it.
	Lab string `json:"lab"`
	Dir string `json:"dir"`

	// Address is the address of its network card, with the prefix length; Gateway is the address of the switch, or of the router
	// of its subnet if VPC is set.
	Address string `json:"address"`
	Gateway string `json:"gateway"`
	VPC     bool   `json:"vpc,omitempty"`
	// DNS is the DNS server of a machine in a VPC; others use the switch's server. Search is the domain of short names.
	DNS    string `json:"dns,omitempty"`
	Search string `json:"search,omitempty"`

	// MemoryMiB is the amount of memory that the machine reports.
	MemoryMiB int `json:"memoryMiB"`

	// Registry serves images over plain HTTP; Pause is the sandbox image of pods.
	Registry string `json:"registry"`
	Pause    string `json:"pause"`

	// ClusterDNS is the DNS server of its pods.
	ClusterDNS string `json:"clusterDNS"`
	// Labels, Taints and ProviderID are those with which the kubelet registers its node.
	Labels     map[string]string `json:"labels,omitempty"`
	Taints     []string          `json:"taints,omitempty"`
	ProviderID string            `json:"providerID,omitempty"`
	// ExternalCloud makes the kubelet leave addresses and zone of its node to a cloud-controller-manager.
	ExternalCloud bool `json:"externalCloud,omitempty"`
	// KubeProxy: the machine runs kube-proxy itself.
	KubeProxy bool `json:"kubeProxy,omitempty"`
	// NetworkPolicies: the machine enforces them, and its pods get IPv6 addresses in addition to IPv4 addresses.
	NetworkPolicies bool `json:"networkPolicies,omitempty"`
	// Disks is the directory of the disks that the machine mounts for pods, if any.
	Disks string `json:"disks,omitempty"`

	// Instance is set for a machine that starts like an instance of AWS, from its user data alone.
	Instance *Instance `json:"instance,omitempty"`
}

// Instance is a machine's knowledge of its instance. Everything else is in the metadata service of its VPC.
type Instance struct {
	Hostname string `json:"hostname"`
	// Root is the root file system that it boots.
	Root string `json:"root"`
	// Ignition: the machine reads its user data with Ignition, before it boots. Otherwise a unit of the root file system reads it.
	Ignition bool `json:"ignition,omitempty"`
	// Resolved: systemd-resolved uses the DNS server of the machine, and programs query its stub.
	Resolved bool `json:"resolved,omitempty"`
	// Kubelet: the machine image contains the lab's kubelet, containerd, runc and plugins.
	Kubelet bool `json:"kubelet,omitempty"`
}

// Files of a machine, in its directory.
const (
	specFile = "machine.json"
	// BootstrapKubeconfig is for the join of the kubelet, KubeProxyKubeconfig for kube-proxy.
	BootstrapKubeconfig = "bootstrap.kubeconfig"
	KubeProxyKubeconfig = "kube-proxy.kubeconfig"
	// NetworkPolicyKubeconfig is for reading the objects from which NetworkPolicies are evaluated.
	NetworkPolicyKubeconfig = "networkpolicy.kubeconfig"
	// CA is the client CA of the kubelet.
	CA = "ca.crt"
	// ConsoleLog is the output of pid 1, and of the agent or of systemd.
	ConsoleLog = "console.log"
)

// Write writes the spec into the directory of the machine.
func (s Spec) Write() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir, specFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing machine %s: %w", s.Name, err)
	}
	return nil
}

// Read reads the spec in the directory of a machine.
func Read(dir string) (Spec, error) {
	var s Spec
	text, err := os.ReadFile(filepath.Join(dir, specFile))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("reading the machine in %s: %w", dir, err)
	}
	return s, nil
}

func (s Spec) path(elements ...string) string {
	return filepath.Join(append([]string{s.Dir}, elements...)...)
}

func (s Spec) program(name string) string { return filepath.Join(s.Lab, "bin", name) }
