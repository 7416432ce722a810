package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/test/lab/clock"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// machine is a machine of the lab, on or off.
type machine struct {
	cluster.MachineOptions
	spec    machineos.Spec
	host    int         // last byte of its address, and number of its port
	of      *management // the management cluster that it has joined; nil in another cluster
	cluster *joined     // the cluster that it has joined; nil for a worker, which joins by its user data
	// worker is the customer's instance for which the machine exists, if any.
	worker *cloud.Worker
	// instantiated: the lab has created its instance in the cloud and must terminate it.
	instantiated bool

	mu      sync.Mutex      // held while it is being turned on or off
	running *namespace.Init // nil: it is off
	stopped bool            // it is off, and so is its instance
	skew    *clock.Skew     // nil: its clock is right
}

func (m *machine) port() string    { return fmt.Sprintf("port%d", m.host) }
func (m *machine) console() string { return filepath.Join(m.spec.Dir, machineos.ConsoleLog) }

// address is the address of its network card. If zones have their own networks, it is in its zone's network.
func (m *machine) address() netip.Addr {
	if m.worker != nil {
		return m.worker.Address
	}
	if m.Join != "" {
		return cloud.Address(machineNetwork, "", m.host)
	}
	return cloud.Address(machineNetwork, m.Zone, m.host)
}

// instance returns the id of the machine's instance in a VPC; empty for a machine on the switch.
func (m *machine) instance() string {
	if m.worker != nil || m.instantiated {
		return m.InstanceID
	}
	return ""
}

// pid1 is the pid of a running machine's pid 1, or 0.
func (m *machine) pid1() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return 0
	}
	select {
	case <-m.running.Done(): // it has ended by itself
		return 0
	default:
		return m.running.PID()
	}
}

// specify returns the configuration of a machine.
func (s *supervisor) specify(m *machine) machineos.Spec {
	spec := machineos.Spec{
		Name: m.Name, Lab: s.options.Dir, Dir: s.path("machines", m.Name),
		Address: netip.PrefixFrom(m.address(), machineNetwork.Bits()).String(), Gateway: cluster.SwitchAddress,
		MemoryMiB: m.MemoryMiB,
		Registry:  cluster.Registry, Pause: cluster.Registry + "/pause:lab",
		ClusterDNS: m.ClusterDNS,
		Labels:     map[string]string{}, Taints: m.Taints,
		ExternalCloud: m.ExternalCloud,
		KubeProxy:     m.Join == "", NetworkPolicies: m.Join == "",
	}
	if m.of != nil {
		spec.Disks = m.of.path(disks)
		spec.ClusterDNS = cmp.Or(spec.ClusterDNS, m.of.addresses.dns)
	}
	maps.Copy(spec.Labels, m.Labels)
	if m.Zone != "" && !m.ExternalCloud {
		spec.Labels[corev1.LabelTopologyZone], spec.Labels[corev1.LabelTopologyRegion] = m.Zone, cluster.Region
	}
	if m.InstanceType != "" && !m.ExternalCloud {
		spec.Labels[corev1.LabelInstanceTypeStable] = m.InstanceType
	}
	if m.InstanceID != "" {
		spec.ProviderID = fmt.Sprintf("aws:///%s/%s", m.Zone, m.InstanceID)
	}
	spec.ClusterDNS = cmp.Or(spec.ClusterDNS, cluster.ClusterDNS)
	return spec
}
