package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
)

// bootable are the machine images that the lab supports: those with the lab's version of the kubelet.
var bootable = map[string]bool{awsemulator.ImageAMD64: true}

// followWorkers creates a machine for each instance of a customer, and removes it with the instance. It does not read the
// clusters that the machines join.
func (s *supervisor) followWorkers(ctx context.Context) {
	go s.cloud.FollowWorkers(ctx, s.progress, s.machines.employ)
}

// employ reconciles the machines with the running instances. It reports whether it is done: the routes to pods of new
// machines follow later.
func (all *machines) employ(_ context.Context, running []cloud.Worker) (settled bool, err error) {
	wanted := map[string]cloud.Worker{}
	for _, w := range running {
		wanted[w.ID] = w
	}
	var errs []error
	for _, m := range all.list() {
		if m.worker == nil {
			continue
		}
		if _, runs := wanted[m.worker.ID]; !runs {
			errs = append(errs, all.remove(m.Name))
			all.lab.reportEvent("instance %s has ended, its machine is removed", m.Name)
		}
		delete(wanted, m.worker.ID)
	}
	for _, w := range wanted {
		errs = append(errs, all.launch(w))
	}
	routed, err := all.routeWorkers()
	return routed, errors.Join(append(errs, err)...)
}

// reportEvent prints events while the lab runs.
func (s *supervisor) reportEvent(format string, args ...any) {
	fmt.Fprintf(s.progress, format+"\n", args...)
}

// launch creates the machine of an instance, and turns it on.
func (all *machines) launch(w cloud.Worker) error {
	if !bootable[w.Image] {
		return fmt.Errorf("instance %s of account %s boots from %s, which no machine of the lab can", w.ID, w.Account, w.Image)
	}
	for _, m := range all.list() {
		if m.worker != nil && m.worker.Address == w.Address {
			return fmt.Errorf("instance %s of account %s has the address %s, and so has %s: VPCs with workers need networks of their own in a lab", w.ID, w.Account, w.Address, m.Name)
		}
	}
	m, err := all.make(cluster.MachineOptions{
		Name: w.ID, Zone: w.Zone, InstanceType: w.Type, InstanceID: w.ID, MemoryMiB: all.lab.options.MemoryMiB,
	}, nil)
	if err != nil {
		return fmt.Errorf("launching instance %s: %w", w.ID, err)
	}
	m.worker, m.spec = &w, all.lab.specifyWorker(w)
	err = os.MkdirAll(m.spec.Dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(m.spec.Dir, machineos.UserData), w.UserData, 0o600)
	}
	if err == nil {
		err = m.spec.Write()
	}
	if err == nil {
		err = all.start(m.Name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("launching instance %s: %w", w.ID, err), all.remove(m.Name))
	}
	all.lab.reportEvent("instance %s of account %s runs as %s", w.ID, w.Account, w.Hostname)
	return nil
}

// specifyWorker returns the configuration of a machine for an instance: its network. Everything else is in its user data.
func (s *supervisor) specifyWorker(w cloud.Worker) machineos.Spec {
	return machineos.Spec{
		Name: w.ID, Lab: s.options.Dir, Dir: s.path("machines", w.ID),
		Address: w.Address.String() + "/32", Gateway: cluster.SwitchAddress,
		MemoryMiB: s.options.MemoryMiB,
		Registry:  cluster.Registry, Pause: cluster.Registry + "/pause:lab",
		Instance: &machineos.Instance{ID: w.ID, Zone: w.Zone, Hostname: w.Hostname},
	}
}

// routeWorkers sets the routes between the pods of the machines of each VPC, and reports whether all their pod ranges are
// known.
func (all *machines) routeWorkers() (complete bool, err error) {
	complete = true
	vpcs := map[string]map[string]string{} // VPC -> pod range -> machine
	for _, m := range all.list() {
		if m.worker == nil {
			continue
		}
		pods, err := os.ReadFile(filepath.Join(m.spec.Dir, machineos.PodRange))
		if errors.Is(err, fs.ErrNotExist) {
			complete = false
			continue
		}
		if err != nil {
			return false, fmt.Errorf("reading where the pods of %s are: %w", m.Name, err)
		}
		if vpcs[m.worker.VPC] == nil {
			vpcs[m.worker.VPC] = map[string]string{}
		}
		vpcs[m.worker.VPC][strings.TrimSpace(string(pods))] = m.address().String()
	}
	var errs []error
	for _, m := range all.list() {
		if m.worker == nil {
			continue
		}
		others := maps.Clone(vpcs[m.worker.VPC])
		maps.DeleteFunc(others, func(_, machine string) bool { return machine == m.address().String() })
		if pid := m.pid1(); pid != 0 && len(others) > 0 {
			errs = append(errs, routesInside(pid, others))
		}
	}
	return complete, errors.Join(errs...)
}

// routeTo sets the route to a machine that is not in the network of the others.
func (m *machine) routeTo() error {
	if m.worker == nil {
		return nil
	}
	route, err := m.route()
	if err == nil {
		err = netlink.RouteReplace(route)
	}
	if err != nil {
		return fmt.Errorf("routing to machine %s: %w", m.Name, err)
	}
	return nil
}

func (m *machine) unroute() error {
	if m.worker == nil {
		return nil
	}
	route, err := m.route()
	if err != nil {
		return fmt.Errorf("removing the route to machine %s: %w", m.Name, err)
	}
	_ = netlink.RouteDel(route) // the only error is that it does not exist
	return nil
}

func (m *machine) route() (*netlink.Route, error) {
	bridge, err := netlink.LinkByName(switchName)
	if err != nil {
		return nil, fmt.Errorf("finding the switch: %w", err)
	}
	return &netlink.Route{
		LinkIndex: bridge.Attrs().Index, Scope: netlink.SCOPE_LINK,
		Dst: &net.IPNet{IP: m.address().AsSlice(), Mask: net.CIDRMask(32, 32)},
	}, nil
}
