package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Spec is all that the inside of a machine is told.
type Spec struct {
	Name string `json:"name"`
	// Lab is the directory of the lab, Dir that of the machine in it.
	Lab string `json:"lab"`
	Dir string `json:"dir"`

	// Address is that of its network card on the switch, with the length of the prefix; the switch is Gateway.
	Address string `json:"address"`
	Gateway string `json:"gateway"`

	// MemoryMiB is how much memory the machine says it has.
	MemoryMiB int `json:"memoryMiB"`

	// Registry serves images over plain HTTP; Pause is the one that holds a pod.
	Registry string `json:"registry"`
	Pause    string `json:"pause"`

	// ClusterDNS is where its pods ask for names.
	ClusterDNS string `json:"clusterDNS"`
	// Labels, Taints and ProviderID are what the kubelet registers its node with.
	Labels     map[string]string `json:"labels,omitempty"`
	Taints     []string          `json:"taints,omitempty"`
	ProviderID string            `json:"providerID,omitempty"`
	// ExternalCloud has the kubelet leave addresses and zone of its node to a cloud-controller-manager.
	ExternalCloud bool `json:"externalCloud,omitempty"`
	// KubeProxy is whether the machine runs kube-proxy itself.
	KubeProxy bool `json:"kubeProxy,omitempty"`
	// NetworkPolicies is whether the machine enforces them, and gives its pods an IPv6 address beside that of IPv4.
	NetworkPolicies bool `json:"networkPolicies,omitempty"`

	// Instance is the one that the machine is, if it starts as instances of AWS do: with nothing but its user data.
	Instance *Instance `json:"instance,omitempty"`
}

// Instance is what an instance learns about itself.
type Instance struct {
	ID       string `json:"id"`
	Zone     string `json:"zone"`
	Hostname string `json:"hostname"`
}

// Files of a machine, in its directory.
const (
	specFile = "machine.json"
	// BootstrapKubeconfig is what the kubelet joins with, KubeProxyKubeconfig what kube-proxy runs with.
	BootstrapKubeconfig = "bootstrap.kubeconfig"
	KubeProxyKubeconfig = "kube-proxy.kubeconfig"
	// NetworkPolicyKubeconfig reads what NetworkPolicies are evaluated from.
	NetworkPolicyKubeconfig = "networkpolicy.kubeconfig"
	// CA is what the kubelet knows clients by.
	CA = "ca.crt"
	// UserData is that of an instance.
	UserData = "user-data"
	// PodRange is where a machine that is an instance says which addresses its pods have, for the routes of others.
	PodRange = "pod-range"
	// ConsoleLog is what pid 1 and the agent say.
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
