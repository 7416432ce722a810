package cluster

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Options configure a lab. Empty fields have defaults.
type Options struct {
	// Dir is the directory of all files of the lab; <cache>/lab by default.
	Dir string `json:"dir"`
	// Machines is the number of machines, spread over Zones. The default is 3 machines, and as many zones as machines, but
	// at most 3.
	Machines int `json:"machines"`
	Zones    int `json:"zones"`
	// MemoryMiB is the memory of each machine; 6144 by default.
	MemoryMiB int `json:"memoryMiB"`
	// Cloud enables AWS: the emulator and the cloud-controller-manager, machines that are instances, load balancers with
	// names and traffic.
	Cloud bool `json:"cloud"`
	// InstantVolumes attaches volumes at once, instead of after storage.AttachDelay: a measurement compares the time of programs.
	InstantVolumes bool `json:"instantVolumes,omitempty"`
	// IdleTimeout is how long load balancers keep a connection without packets. Default: AWS's timeout, 350 seconds. A test with a
	// shorter one sees in minutes which connections have no keep-alive.
	IdleTimeout time.Duration `json:"idleTimeout,omitempty"`
	// InstancesLater starts without the prerequisites of node pools' machines: see PrepareInstances.
	InstancesLater bool `json:"-"`
	// New rejects a lab that runs already, because it belongs to another user.
	New bool `json:"-"`
	// second: these are the options of the second management cluster.
	second bool
	// Program is the path of the command lab, if it is built already.
	Program string `json:"-"`
	// Progress receives a line for each step; a steps.Reporter also gets the steps of builds.
	Progress io.Writer `json:"-"`
}

const (
	// maxZones is the number of zones that have a network.
	maxZones = 3
	// maxSocket is the maximum of the kernel.
	maxSocket = 107
)

// Region is the region in the labels of nodes.
const Region = "us-east-1"

// DefaultDir is the default directory of a lab.
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

// FirstMachines are the machines with which a lab starts: m1, m2, ..., distributed over the zones in turn.
func (o Options) FirstMachines() []MachineOptions {
	prefix := ""
	if o.second {
		prefix = "second-"
	}
	var all []MachineOptions
	for i := range o.Machines {
		all = append(all, MachineOptions{
			Name:      fmt.Sprintf("%sm%d", prefix, i+1),
			Zone:      fmt.Sprintf("%s%c", Region, 'a'+i%o.Zones),
			MemoryMiB: o.MemoryMiB,
		})
	}
	return all
}

// MachineOptions configure a machine, and the properties of an EC2 instance that its node has.
type MachineOptions struct {
	Name string `json:"name"`
	// Zone is the availability zone, InstanceType the type of the machine; the node has labels for both.
	Zone         string `json:"zone,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	// InstanceID is the part of the node's provider id after the zone. With a cloud, a machine of the management cluster
	// gets an instance of its own.
	InstanceID string            `json:"instanceID,omitempty"`
	MemoryMiB  int               `json:"memoryMiB,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// Taints are KEY=VALUE:EFFECT or KEY:EFFECT.
	Taints []string `json:"taints,omitempty"`
	// ExternalCloud leaves the labels for zone and type to a cloud-controller-manager. Without one, the node stays
	// tainted.
	ExternalCloud bool `json:"externalCloud,omitempty"`
	// Second: the machine joins the second management cluster. AddMachine sets it.
	Second bool `json:"second,omitempty"`
	// Join is the kubeconfig of an administrator of the cluster that the machine joins; the default is the cluster of the
	// lab. In another cluster the machine does not run kube-proxy; the cluster must do so.
	Join string `json:"join,omitempty"`
	// ClientCA is the CA of the API server's client certificates for the kubelet, if it is not the CA in the kubeconfig.
	ClientCA string `json:"clientCA,omitempty"`
	// ClusterDNS is the DNS server for pods of another cluster.
	ClusterDNS string `json:"clusterDNS,omitempty"`
}
