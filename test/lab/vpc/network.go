package vpc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// Options configure a Network.
type Options struct {
	// Read reads the network of all accounts.
	Read func(context.Context) (*awsemulator.Network, error)
	// Management is the account of the management cluster, and ManagementVPC its VPC: its router is the network of this
	// process, with the addresses of the lab and the way to the host. Other VPCs of the account carry no packets.
	Management, ManagementVPC string
	// ControlPlane is the address from which programs of this process connect to the machines of the management cluster.
	ControlPlane netip.Addr
	// Services are the addresses that customers' VPCs reach on the internet, with their ports: AWS and registries.
	Services []netip.AddrPort
	// Balancers returns the addresses of load balancers, by ARN.
	Balancers func() map[string]netip.Addr
	// Metadata returns the metadata of an instance; nil for an unknown one.
	Metadata func(instance string) *Metadata
	// Resolve serves DNS for a VPC until ctx ends.
	Resolve func(ctx context.Context, vpc *Router, at []netip.AddrPort) error
	poll.Options
}

// Network is the network of all VPCs.
type Network struct {
	*poll.Loop
	o        Options
	internet *internet

	// refreshing is held from a reading of the accounts until the network is as it says: an older one must not follow a newer one.
	refreshing sync.Mutex

	mu      sync.Mutex
	now     awsemulator.Network
	changed time.Time // when now was last different
	// generation counts the changes.
	generation int
	vpcs       map[string]*served
	pods       map[string][]netip.Prefix // by instance
	last       int                       // number of the last router
}

// served is a VPC with a router, and servers in it.
type served struct {
	*Router
	stop context.CancelFunc
}

// settleTime is how long the state is read after its last change: gateways and load balancers change by themselves.
const settleTime = 3 * time.Second

// New returns a Network; Run follows the accounts.
func New(o Options) (*Network, error) {
	out, err := newInternet()
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	n := &Network{o: o, internet: out, vpcs: map[string]*served{}, pods: map[string][]netip.Prefix{}}
	n.Loop = poll.New("networks of VPCs", o.Options, n.refresh)
	return n, nil
}

// Run follows the accounts until ctx ends, and removes all VPCs then.
func (n *Network) Run(ctx context.Context) {
	n.Loop.Run(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.vpcs {
		_ = n.remove(id) // the network of the lab ends, too
	}
}

// Generation counts the changes of the network.
func (n *Network) Generation() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.generation
}

// Refresh reads the accounts now, for a caller that needs a resource that it has just seen.
func (n *Network) Refresh(ctx context.Context) error {
	_, err := n.refresh(ctx)
	return err
}

func (n *Network) refresh(ctx context.Context) (settled bool, err error) {
	n.refreshing.Lock()
	defer n.refreshing.Unlock()
	read, err := n.o.Read(ctx)
	if err != nil {
		return false, err
	}
	balancers := n.o.Balancers() // before the lock: load balancers read our entries
	n.mu.Lock()
	defer n.mu.Unlock()
	if !reflect.DeepEqual(n.now, *read) {
		n.now, n.changed, n.generation = *read, n.o.Clock.Now(), n.generation+1
	}
	wanted := map[string]bool{}
	for _, v := range n.now.VPCs {
		if (v.Account != n.o.Management || v.ID == n.o.ManagementVPC) && len(v.CIDRs) > 0 {
			wanted[v.ID] = true
			err = errors.Join(err, n.ensure(ctx, v))
		}
	}
	for id := range n.vpcs {
		if !wanted[id] {
			err = errors.Join(err, n.remove(id))
		}
	}
	err = errors.Join(err, n.internet.open(ctx, n.o.Services, n.public(balancers)))
	return n.o.Clock.Since(n.changed) > settleTime, err
}

// ensure makes the router of a VPC, applies its state, and starts its servers. A failed part is tried again by the next call.
func (n *Network) ensure(ctx context.Context, v awsemulator.VPC) error {
	c := n.vpcs[v.ID]
	if c == nil {
		router, err := n.make(v.ID)
		if err != nil {
			return err
		}
		c = &served{Router: router}
		n.vpcs[v.ID] = c
	}
	s := n.state(v)
	if err := c.apply(ctx, s); err != nil || c.stop != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	if err := errors.Join(n.serveMetadata(serving, c.Router), n.serveDNS(serving, c.Router, s)); err != nil {
		stop()
		return err
	}
	c.stop = stop
	return nil
}

// public returns the addresses of internet-facing load balancers.
func (n *Network) public(at map[string]netip.Addr) []netip.Addr {
	var public []netip.Addr
	for _, b := range n.now.Balancers {
		if address, there := at[b.ARN]; there && !b.Internal {
			public = append(public, address)
		}
	}
	return public
}

func (n *Network) make(id string) (*Router, error) {
	if id == n.o.ManagementVPC {
		return newManagementRouter(id, n.o.ControlPlane)
	}
	for range maxRouters {
		n.last = (n.last + 1) % maxRouters
		used := false
		for _, c := range n.vpcs {
			used = used || c.number == n.last
		}
		if !used {
			return newRouter(id, n.last)
		}
	}
	return nil, fmt.Errorf("there are more than %d VPCs", maxRouters)
}

func (n *Network) serveDNS(ctx context.Context, r *Router, s state) error {
	if n.o.Resolve == nil || !s.DNS {
		return nil
	}
	return n.o.Resolve(ctx, r, []netip.AddrPort{netip.AddrPortFrom(s.resolver(), 53), netip.AddrPortFrom(dnsAddress, 53)})
}

func (n *Network) remove(id string) error {
	c := n.vpcs[id]
	delete(n.vpcs, id)
	if c.stop != nil {
		c.stop()
	}
	return c.close()
}

// state is one VPC of the last read.
func (n *Network) state(v awsemulator.VPC) state {
	s := state{VPC: v, subnets: map[string]awsemulator.NetworkSubnet{}, groups: map[string]awsemulator.SecurityGroup{}, pods: map[string][]netip.Prefix{}}
	if v.ID == n.o.ManagementVPC {
		s.management, s.controlPlane = true, n.o.ControlPlane
	}
	for _, subnet := range n.now.Subnets {
		if subnet.VPC == v.ID {
			s.subnets[subnet.ID] = subnet
		}
	}
	for _, group := range n.now.Groups {
		if group.VPC == v.ID {
			s.groups[group.ID] = group
		}
	}
	for _, i := range n.now.Interfaces {
		if i.VPC != v.ID {
			continue
		}
		s.interfaces = append(s.interfaces, i)
		if pods, has := n.pods[i.Instance]; has {
			s.pods[i.Instance] = pods
		}
	}
	return s
}

// interfaceOf returns the interface of an instance.
func (n *Network) interfaceOf(instance string) (awsemulator.NetworkInterface, bool) {
	at := slices.IndexFunc(n.now.Interfaces, func(i awsemulator.NetworkInterface) bool { return i.Instance == instance })
	if at < 0 {
		return awsemulator.NetworkInterface{}, false
	}
	return n.now.Interfaces[at], true
}

// Attachment holds the facts about a network that its machine needs.
type Attachment struct {
	Address      netip.Prefix
	Gateway, DNS netip.Addr
	// Domain is the domain of short names.
	Domain string
}

// Attachment returns the attachment of an instance.
func (n *Network) Attachment(ctx context.Context, instance string) (Attachment, error) {
	if err := n.Refresh(ctx); err != nil {
		return Attachment{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i, known := n.interfaceOf(instance)
	c := n.vpcs[i.VPC]
	if !known || c == nil {
		return Attachment{}, fmt.Errorf("instance %s has no network interface in a VPC", instance)
	}
	var a Attachment
	for _, v := range n.now.VPCs {
		if v.ID == i.VPC {
			s := n.state(v)
			a = Attachment{netip.PrefixFrom(i.Address, 32), gateway(s.subnets[i.Subnet].CIDR), s.nameserver(), v.Domain}
		}
	}
	return a, nil
}

// Router returns the router of a VPC, or nil.
func (n *Network) Router(vpc string) *Router {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.vpcs[vpc]; c != nil {
		return c.Router
	}
	return nil
}

// Plug connects a machine that runs as the process to the VPC of its instance.
func (n *Network) Plug(ctx context.Context, instance string, pid int) error {
	// An instance that was stopped has its interface again.
	if err := n.Refresh(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	i, known := n.interfaceOf(instance)
	c := n.vpcs[i.VPC]
	var err error
	if !known || c == nil {
		err = fmt.Errorf("instance %s has no network interface in a VPC", instance)
	} else {
		err = c.plug(link(i), pid)
	}
	n.mu.Unlock()
	if err != nil {
		return err
	}
	return n.Refresh(ctx)
}

// SetPods sets the ranges from which an instance gives addresses to its pods.
func (n *Network) SetPods(ctx context.Context, instance string, pods ...netip.Prefix) error {
	n.mu.Lock()
	same := slices.Equal(n.pods[instance], pods)
	if len(pods) > 0 {
		n.pods[instance] = pods
	} else {
		delete(n.pods, instance)
	}
	n.mu.Unlock()
	if same {
		return nil
	}
	return n.Refresh(ctx)
}
