package cloud

import (
	"context"
	"net/netip"
	"sync"

	"github.com/hosted-control-planes/hypershift/test/lab/vpc"
)

// instances are the workers of the last read, and the management cluster's workers, for the metadata service.
type instances struct {
	mu         sync.Mutex
	byID       map[string]Worker
	management map[string]vpc.Metadata
}

// manage adds an instance of the management cluster.
func (i *instances) manage(m vpc.Metadata) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.management[m.ID] = m
}

func (i *instances) release(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.management, id)
}

func (i *instances) set(workers []Worker) {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.byID)
	for _, w := range workers {
		i.byID[w.ID] = w
	}
}

func (i *instances) metadata(id string) *vpc.Metadata {
	i.mu.Lock()
	defer i.mu.Unlock()
	if m, known := i.management[id]; known {
		return &m
	}
	w, known := i.byID[id]
	if !known {
		return nil
	}
	return &vpc.Metadata{ID: w.ID, Zone: w.Zone, Type: w.Type, Image: w.Image, Hostname: w.Hostname, UserData: w.UserData}
}

// connect prepares the network of the VPCs.
func (c *Cloud) connect(o Options) (err error) {
	host, err := netip.ParseAddr(o.Host)
	if err != nil {
		return err
	}
	c.network, err = vpc.New(vpc.Options{
		Read: c.AWS.Network, Management: c.Management.Account, ManagementVPC: c.Management.VPC, ControlPlane: o.ControlPlane,
		Services: append([]netip.AddrPort{netip.AddrPortFrom(host, uint16(o.Port))}, o.Services...),
		Balancers: func() map[string]netip.Addr {
			all := map[string]netip.Addr{}
			for _, b := range c.balancers.snapshot() {
				if b.Address.IsValid() {
					all[b.ARN] = b.Address
				}
			}
			return all
		},
		Metadata: c.workers.metadata,
		Resolve:  c.resolveIn,
		Options:  c.poll(o),
	})
	return err
}

// Network is the network of the VPCs; nil if they carry no packets.
func (c *Cloud) Network() *vpc.Network { return c.network }

// resolveIn serves DNS on addresses of a VPC.
func (c *Cloud) resolveIn(ctx context.Context, r *vpc.Router, addresses []netip.AddrPort) error {
	for _, at := range addresses {
		packets, err := r.ListenPacket(at)
		if err != nil {
			return err
		}
		listener, err := r.Listen(at)
		if err != nil {
			_ = packets.Close() // no write can be lost
			return err
		}
		c.resolver.Serve(ctx, r.ID, packets, listener)
	}
	return nil
}

// orEndpoints also reports changes of endpoints, which become available by themselves.
func (c *Cloud) orEndpoints(changed func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	last := 0
	return func(ctx context.Context) (bool, error) {
		calls, err := changed(ctx)
		now := c.network.Generation()
		was := last
		last = now
		return calls || now != was, err
	}
}

func (c *Cloud) zone() func(string, netip.Addr) string {
	if c.network == nil {
		return nil
	}
	return c.network.Zone
}
