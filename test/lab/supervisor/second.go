package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// secondName is the cluster id of the second management cluster in AWS, and with a hyphen the prefix of its servers.
const secondName = "second"

// secondPortOffset keeps its ports below those that process.FreePort returns.
const secondPortOffset = 5000

// secondCluster is the second management cluster, while there is one. It has the machines with Second, and everything that the first
// one has but the network of the lab, the registry and AWS.
type secondCluster struct {
	changing sync.Mutex // held while it is started or removed

	mu      sync.Mutex
	running *management
	end     context.CancelFunc // of its storage
}

func (c *secondCluster) get() *management {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

func (c *secondCluster) set(m *management, end context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.end = m, end
}

func (c *secondCluster) status() *cluster.Second {
	if m := c.get(); m != nil {
		return &cluster.Second{Management: m.account}
	}
	return nil
}

// managementOf returns the management cluster that a machine joins; nil for another cluster.
func (s *supervisor) managementOf(o cluster.MachineOptions) (*management, error) {
	switch {
	case o.Join != "":
		return nil, nil
	case !o.Second:
		return s.first, nil
	}
	if m := s.second.get(); m != nil {
		return m, nil
	}
	return nil, errors.New("no second management cluster runs")
}

// startSecond starts the second management cluster, unless it runs. After an error, nothing of it is left.
func (s *supervisor) startSecond(ctx context.Context) (*cluster.Second, error) {
	s.second.changing.Lock()
	defer s.second.changing.Unlock()
	if running := s.second.status(); running != nil {
		return running, nil
	}
	if s.cloud == nil {
		return nil, errors.New("a second management cluster needs a lab with AWS")
	}
	m := &management{supervisor: s, dir: cluster.SecondDir(s.options.Dir), prefix: secondName + "-", addresses: addresses{
		apiServer: cluster.SecondAPIServerAddress, pods: cluster.SecondPodNetwork, services: cluster.SecondServiceNetwork, service: "10.61.0.1", dns: cluster.SecondClusterDNS,
		portOffset: secondPortOffset,
	}}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	err := inSequence(
		m.certify,
		func(context.Context) error { return setAddress(netlink.AddrAdd, m.addresses.apiServer) },
		m.share,
		m.startControlPlane,
		func(context.Context) error { return m.startStorage(life) },
		m.startCloudController,
	)(ctx)
	if err != nil {
		end()
		return nil, errors.Join(err, m.remove(context.WithoutCancel(ctx)))
	}
	s.second.set(m, end)
	return s.second.status(), nil
}

// share gives the cluster its share of the account of the first one.
func (m *management) share(ctx context.Context) (err error) {
	// The API servers of both connect to machines from the same address: routes select it.
	m.account, err = m.cloud.AWS.ShareManagement(ctx, m.cloud.Management, secondName, netip.MustParseAddr(cluster.APIServerAddress))
	return err
}

// removeSecond removes the second management cluster, if there is one.
func (s *supervisor) removeSecond(ctx context.Context) error {
	s.second.changing.Lock()
	defer s.second.changing.Unlock()
	m := s.second.get()
	if m == nil {
		return nil
	}
	s.second.end()
	if err := m.remove(ctx); err != nil {
		return err
	}
	s.second.set(nil, nil)
	return nil
}

// remove removes the cluster, also one that has not started completely. A failed removal can be repeated.
func (m *management) remove(ctx context.Context) error {
	var errs []error
	for _, one := range m.machines.list() {
		if one.Second {
			errs = append(errs, m.machines.remove(one.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	m.servers.stop(m.prefix)
	m.machines.leave(m.joined)
	m.joined = nil
	if m.account != nil {
		if err := m.cloud.AWS.UnshareManagement(ctx, m.account); err != nil {
			return err
		}
	}
	if err := setAddress(netlink.AddrDel, m.addresses.apiServer); err != nil {
		return err
	}
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("removing the second management cluster: %w", err)
	}
	return nil
}

// setAddress adds an address to the switch, or deletes it.
func setAddress(set func(netlink.Link, *netlink.Addr) error, address string) error {
	link, err := netlink.LinkByName(switchName)
	if err == nil {
		err = set(link, &netlink.Addr{IPNet: parse(address + "/32")})
	}
	if err != nil && !errors.Is(err, syscall.EEXIST) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("changing address %s of the lab: %w", address, err)
	}
	return nil
}
