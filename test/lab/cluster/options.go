package cluster

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Options say what a lab is like. What is left empty has a default.
type Options struct {
	// Dir is where everything of the lab is; <cache>/lab by default.
	Dir string `json:"dir"`
	// Machines is how many there are, spread over Zones; 3 and as many as there are machines, but at most 3.
	Machines int `json:"machines"`
	Zones    int `json:"zones"`
	// MemoryMiB is the size of each; 6144.
	MemoryMiB int `json:"memoryMiB"`
	// Cloud is whether there is AWS: the emulator and the cloud-controller-manager, machines that are instances, load balancers
	// with names and traffic.
	Cloud bool `json:"cloud"`
	// New refuses a lab that is up already: it is somebody else's.
	New bool `json:"-"`
	// Program is the path of the command lab, if there is one already.
	Program string `json:"-"`
	// Progress gets a line with the seconds for each thing that has happened.
	Progress io.Writer `json:"-"`
}

const (
	// maxZones is how many have a network.
	maxZones = 3
	// maxSocket is what the kernel takes.
	maxSocket = 107
)

// Region is where the lab is, as far as labels of nodes tell.
const Region = "us-east-1"

// DefaultDir is where a lab is that is nowhere else.
func DefaultDir() (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "lab"), nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		dir, err := DefaultDir()
		if err != nil {
			return o, err
		}
		o.Dir = dir
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("finding the directory of the lab: %w", err)
	}
	o.Dir = dir
	if o.Machines == 0 {
		o.Machines = 3
	}
	if o.Zones == 0 {
		o.Zones = min(o.Machines, maxZones)
	}
	if o.Zones > maxZones {
		return o, fmt.Errorf("a lab has %d zones at most, not %d", maxZones, o.Zones)
	}
	if socket := Socket(dir); len(socket) > maxSocket {
		return o, fmt.Errorf("%s is too long for the name of a socket: choose another directory for the lab", socket)
	}
	if o.MemoryMiB == 0 {
		o.MemoryMiB = 6144
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o, nil
}

// FirstMachines are those that a lab starts with: m1, m2, ..., each in another zone than the one before.
func (o Options) FirstMachines() []MachineOptions {
	var all []MachineOptions
	for i := range o.Machines {
		all = append(all, MachineOptions{
			Name:      fmt.Sprintf("m%d", i+1),
			Zone:      fmt.Sprintf("%s%c", Region, 'a'+i%o.Zones),
			MemoryMiB: o.MemoryMiB,
		})
	}
	return all
}

// MachineOptions say what a machine is like: as much of an EC2 instance as a node shows.
type MachineOptions struct {
	Name string `json:"name"`
	// Zone is the availability zone, InstanceType the kind of machine; labels of the node say both.
	Zone         string `json:"zone,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	// InstanceID makes the provider id of the node, with the zone. A machine of the management cluster gets an instance of its
	// own, if there is a cloud.
	InstanceID string            `json:"instanceID,omitempty"`
	MemoryMiB  int               `json:"memoryMiB,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// Taints are KEY=VALUE:EFFECT or KEY:EFFECT.
	Taints []string `json:"taints,omitempty"`
	// ExternalCloud leaves what the node says of its zone and type to a cloud-controller-manager, without which it stays
	// tainted.
	ExternalCloud bool `json:"externalCloud,omitempty"`
	// Join is the kubeconfig of an administrator of the cluster that the machine joins; by default that is the cluster of
	// the lab. In another cluster the machine runs no kube-proxy: that is up to the cluster.
	Join string `json:"join,omitempty"`
	// ClientCA is what the kubelet knows the API server by, if that is not the authority in the kubeconfig.
	ClientCA string `json:"clientCA,omitempty"`
	// ClusterDNS is where pods of another cluster ask for names.
	ClusterDNS string `json:"clusterDNS,omitempty"`
}
