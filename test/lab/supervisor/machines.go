package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
)

// machines are all machines of a lab, on and off.
type machines struct {
	lab *supervisor

	mu       sync.Mutex
	known    map[string]*machine
	lastHost int
	clusters map[string]*joined // by the URL of their API server
}

// add creates a machine and turns it on.
func (all *machines) add(ctx context.Context, options cluster.MachineOptions) error {
	if problems := validation.IsDNS1123Label(options.Name); len(problems) > 0 {
		return fmt.Errorf("machine %q cannot be named so: %s", options.Name, problems[0])
	}
	if options.Zone == "" && options.Join == "" {
		options.Zone = cluster.Region + "a"
	}
	of, err := all.lab.managementOf(options)
	if err != nil {
		return fmt.Errorf("adding machine %s: %w", options.Name, err)
	}
	joins, err := all.join(ctx, of, options.Join)
	if err != nil {
		return fmt.Errorf("adding machine %s: %w", options.Name, err)
	}
	m, err := all.make(options, of, joins)
	if err != nil {
		all.leave(joins)
		return fmt.Errorf("adding machine %s: %w", options.Name, err)
	}
	if err := all.prepare(ctx, m); err != nil {
		return errors.Join(fmt.Errorf("adding machine %s: %w", options.Name, err), all.remove(options.Name))
	}
	return all.start(options.Name)
}

// make allocates the name, address and port of a machine.
func (all *machines) make(options cluster.MachineOptions, of *management, joins *joined) (*machine, error) {
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
	m := &machine{MachineOptions: options, host: host, of: of, cluster: joins}
	all.known[options.Name] = m
	return m, nil
}

// prepare creates the disk of a machine, and its credentials for its cluster.
func (all *machines) prepare(ctx context.Context, m *machine) error {
	if err := all.lab.instantiate(ctx, m); err != nil {
		return err
	}
	m.spec = all.lab.specify(m)
	if err := all.lab.attach(ctx, m); err != nil {
		return err
	}
	if err := os.MkdirAll(m.spec.Dir, 0o755); err != nil {
		return fmt.Errorf("making its disk: %w", err)
	}
	if err := m.cluster.admit(ctx, m.spec, m.ClientCA); err != nil {
		return err
	}
	for kubeconfig, has := range map[string]bool{machineos.KubeProxyKubeconfig: m.spec.KubeProxy, machineos.NetworkPolicyKubeconfig: m.spec.NetworkPolicies} {
		if !has {
			continue
		}
		name := strings.TrimSuffix(kubeconfig, ".kubeconfig")
		if err := os.Link(m.of.path("pki", name), filepath.Join(m.spec.Dir, kubeconfig)); err != nil {
			return fmt.Errorf("giving it a kubeconfig for %s: %w", name, err)
		}
	}
	return m.spec.Write()
}

// remove removes a machine with its disk, and its instance.
func (all *machines) remove(name string) error {
	if err := all.kill(name); err != nil {
		return err
	}
	m := all.forget(name)
	if m == nil {
		return nil // another call has removed it
	}
	all.leave(m.cluster)
	if err := errors.Join(all.lab.terminate(m), os.RemoveAll(m.spec.Dir)); err != nil {
		return fmt.Errorf("removing machine %s: %w", name, err)
	}
	return nil
}

// forget removes a machine from the list.
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

// list returns all machines, sorted by name.
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
