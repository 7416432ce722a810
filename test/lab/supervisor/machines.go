package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// machines are all of a lab, on and off.
type machines struct {
	lab *supervisor

	mu       sync.Mutex
	known    map[string]*machine
	lastHost int
	clusters map[string]*joined // by the URL of their API server
}

// machine is one of them.
type machine struct {
	cluster.MachineOptions
	spec    machineos.Spec
	host    int     // the last part of its address, and the number of its port
	cluster *joined // which it has joined; nil for a worker, who joins by himself
	// worker is the instance of a customer that it is, if it is one.
	worker *cloud.Worker
	// instantiated says that its instance in the cloud is ours to end.
	instantiated bool

	mu      sync.Mutex      // held while it is being turned on or off
	running *namespace.Init // nil: it is off
}

func (m *machine) port() string    { return fmt.Sprintf("port%d", m.host) }
func (m *machine) console() string { return filepath.Join(m.spec.Dir, machineos.ConsoleLog) }

// address is that of its network card. Where zones have networks of their own, it is in that of its zone.
func (m *machine) address() netip.Addr {
	if m.worker != nil {
		return m.worker.Address
	}
	if m.Join != "" {
		return cloud.Address(machineNetwork, "", m.host)
	}
	return cloud.Address(machineNetwork, m.Zone, m.host)
}

// pid1 is that of a machine that is on, or 0.
func (m *machine) pid1() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return 0
	}
	select {
	case <-m.running.Done(): // by itself
		return 0
	default:
		return m.running.PID()
	}
}

// add makes a machine and turns it on.
func (all *machines) add(ctx context.Context, options cluster.MachineOptions) error {
	if problems := validation.IsDNS1123Label(options.Name); len(problems) > 0 {
		return fmt.Errorf("machine %q cannot be named so: %s", options.Name, problems[0])
	}
	if options.Zone == "" && options.Join == "" {
		options.Zone = cluster.Region + "a"
	}
	joins, err := all.join(ctx, options.Join)
	if err != nil {
		return fmt.Errorf("adding machine %s: %w", options.Name, err)
	}
	m, err := all.make(options, joins)
	if err != nil {
		all.leave(joins)
		return fmt.Errorf("adding machine %s: %w", options.Name, err)
	}
	if err := all.prepare(ctx, m); err != nil {
		return errors.Join(fmt.Errorf("adding machine %s: %w", options.Name, err), all.remove(options.Name))
	}
	return all.start(options.Name)
}

// make finds a place for a machine.
func (all *machines) make(options cluster.MachineOptions, joins *joined) (*machine, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.known[options.Name] != nil {
		return nil, errors.New("there is one of that name")
	}
	var taken []int
	for _, m := range all.known {
		taken = append(taken, m.host)
	}
	host, err := nextHost(all.lastHost, taken)
	if err != nil {
		return nil, err
	}
	all.lastHost = host
	m := &machine{MachineOptions: options, host: host, cluster: joins}
	all.known[options.Name] = m
	return m, nil
}

// specify says what a machine is told.
func (s *supervisor) specify(m *machine) machineos.Spec {
	spec := machineos.Spec{
		Name: m.Name, Lab: s.options.Dir, Dir: s.path("machines", m.Name),
		Address: netip.PrefixFrom(m.address(), machineNetwork.Bits()).String(), Gateway: cluster.SwitchAddress,
		MemoryMiB: m.MemoryMiB,
		Registry:  cluster.Registry, Pause: cluster.Registry + "/pause:lab",
		ClusterDNS: m.ClusterDNS,
		Labels:     map[string]string{}, Taints: m.Taints,
		ExternalCloud: m.ExternalCloud,
		KubeProxy:     m.Join == "",
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
	if spec.ClusterDNS == "" {
		spec.ClusterDNS = cluster.ClusterDNS
	}
	return spec
}

// prepare gives a machine its disk, and what it joins its cluster with.
func (all *machines) prepare(ctx context.Context, m *machine) error {
	if err := all.lab.instantiate(ctx, m); err != nil {
		return err
	}
	m.spec = all.lab.specify(m)
	if err := os.MkdirAll(m.spec.Dir, 0o755); err != nil {
		return fmt.Errorf("making its disk: %w", err)
	}
	if err := m.cluster.admit(ctx, m.spec, m.ClientCA); err != nil {
		return err
	}
	if m.spec.KubeProxy {
		if err := os.Link(all.lab.path("pki", "kube-proxy"), filepath.Join(m.spec.Dir, machineos.KubeProxyKubeconfig)); err != nil {
			return fmt.Errorf("giving it a kubeconfig for kube-proxy: %w", err)
		}
	}
	return m.spec.Write()
}

// start turns a machine on.
func (all *machines) start(name string) error {
	m, err := all.find(name)
	if err != nil || m.pid1() != 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// What is left of its last life, if that ended by itself.
	if err := m.cleanUp(); err != nil {
		return fmt.Errorf("starting machine %s: %w", name, err)
	}
	if m.running, err = all.lab.boot(m); err != nil {
		return fmt.Errorf("starting machine %s: %w", name, err)
	}
	m.cluster.changed()
	return nil
}

// boot starts pid 1 of a machine, and gives it what only the outside can.
func (s *supervisor) boot(m *machine) (*namespace.Init, error) {
	system, err := cgroup.Detect(cgroup.Family(m.spec.Lab))
	if err != nil {
		return nil, err
	}
	if err := system.Make(m.Name, m.MemoryMiB); err != nil {
		return nil, err
	}
	console, err := os.OpenFile(m.console(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	pid1, err := namespace.Start(console, s.path("bin", "lab"), "pid1", "machine", m.spec.Dir)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return system.Enter(m.Name, pid1.PID()) },
		func() error { return plugIn(m.port(), pid1.PID()) },
		m.routeTo,
		pid1.Open,
	} {
		if err := step(); err != nil {
			pid1.Kill()
			return nil, err
		}
	}
	return pid1, nil
}

// stop turns a machine off in order: its servers end first.
func (all *machines) stop(name string) error {
	return all.end(name, func(running *namespace.Init) { running.Stop(10 * time.Second) })
}

// kill cuts the power of a machine.
func (all *machines) kill(name string) error { return all.end(name, (*namespace.Init).Kill) }

func (all *machines) end(name string, end func(*namespace.Init)) error {
	m, err := all.find(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return nil
	}
	end(m.running)
	m.running = nil
	if err := m.cleanUp(); err != nil {
		return fmt.Errorf("ending machine %s: %w", name, err)
	}
	return nil
}

// cleanUp removes what a machine that is off had of us.
func (m *machine) cleanUp() error {
	system, err := cgroup.Detect(cgroup.Family(m.spec.Lab))
	if err != nil {
		return err
	}
	return errors.Join(cgroup.Remove(context.Background(), system, m.Name), m.unroute(), unplug(m.port()))
}

// remove removes a machine with its disk, and its instance.
func (all *machines) remove(name string) error {
	if err := all.kill(name); err != nil {
		return err
	}
	m := all.forget(name)
	if m == nil {
		return nil // somebody else has
	}
	all.leave(m.cluster)
	if err := errors.Join(all.lab.terminate(m), os.RemoveAll(m.spec.Dir)); err != nil {
		return fmt.Errorf("removing machine %s: %w", name, err)
	}
	return nil
}

// forget takes a machine from the list.
func (all *machines) forget(name string) *machine {
	all.mu.Lock()
	defer all.mu.Unlock()
	m := all.known[name]
	delete(all.known, name)
	return m
}

func (all *machines) find(name string) (*machine, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	m := all.known[name]
	if m == nil {
		return nil, fmt.Errorf("there is no machine %s", name)
	}
	return m, nil
}

// list gives all machines, by name.
func (all *machines) list() []*machine {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.SortedFunc(maps.Values(all.known), func(a, b *machine) int { return strings.Compare(a.Name, b.Name) })
}

func (all *machines) status() []cluster.MachineStatus {
	var list []cluster.MachineStatus
	for _, m := range all.list() {
		list = append(list, cluster.MachineStatus{MachineOptions: m.MachineOptions, Address: m.address().String(), Running: m.pid1() != 0, Log: m.console()})
	}
	return list
}
