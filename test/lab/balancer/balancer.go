package balancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// Options configure a Balancer.
type Options struct {
	LoadBalancers LoadBalancers
	Instances     Instances
	// Network contains the addresses of load balancers. All of them must be addresses of this machine. PublicOnly: internal load
	// balancers have no such address, but entries only.
	Network    netip.Prefix
	PublicOnly bool
	// Dial connects a load balancer, by its ARN, to a target in a VPC; nil for targets in the network of this process.
	Dial func(ctx context.Context, vpc, balancer string, to netip.AddrPort) (net.Conn, error)
	// Entries returns where else clients reach load balancers; nil for nowhere else.
	Entries func() []Entry
	// Zone returns the id of the zone of a target in a VPC; nil if entries have no zones.
	Zone func(vpc string, target netip.Addr) string
	// Instance returns the id of the instance with an address in a VPC, or with a pod at that address; empty without such an instance.
	// nil: clients are no targets.
	Instance func(vpc string, address netip.Addr) string
	// IdleTimeout is how long a connection without packets is kept. Default: AWS's timeout,
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/update-idle-timeout.html
	IdleTimeout time.Duration
	// HealthInterval is how often targets are checked. Default: a second.
	HealthInterval time.Duration
	// Drain is how long connections to a deregistered target stay open. Default: AWS's delay.
	Drain time.Duration
	// Progress receives a line for each load balancer that is created or deleted, too.
	poll.Options
}

// Entry is another place where clients reach a load balancer, such as an interface of a VPC endpoint.
type Entry struct {
	ID string
	// Balancer is the ARN of the load balancer, Zone the id of the zone of the targets; empty for all.
	Balancer, Zone string
	// VPC is the VPC of the clients, if it is the load balancer's VPC.
	VPC string
	// Endpoint is the id of the VPC endpoint through which clients come, or empty.
	Endpoint string
	// Allows reports whether the security groups of the load balancer let a client come to a port; nil if the network decides it.
	Allows func(client netip.Addr, port uint16) bool
	// Listen listens on a port of the entry.
	Listen func(port uint16) (*net.TCPListener, error)
}

// Balancer forwards the traffic of all load balancers of an account.
type Balancer struct {
	*poll.Loop
	o      Options
	reader *reader
	wg     sync.WaitGroup

	mu     sync.Mutex
	pool   *pool
	active map[string]*balancer // by ARN
	groups map[string]*group    // by ARN
}

// balancer is one load balancer.
type balancer struct {
	name, host string
	address    netip.Addr // invalid: it has entries only
	listeners  map[uint16]*listener
	entries    map[string]*entry // by ID
}

// entry is an Entry that is open.
type entry struct {
	Entry
	listeners map[uint16]*listener
}

// New returns a Balancer; Run starts it.
func New(o Options) *Balancer {
	o.HealthInterval = cmp.Or(o.HealthInterval, time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 350*time.Second)
	o.Drain = cmp.Or(o.Drain, 300*time.Second)
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, _, _ string, to netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", to.String())
		}
	}
	b := &Balancer{
		o:      o,
		reader: &reader{elb: o.LoadBalancers, ec2: o.Instances, addresses: map[string]netip.Addr{}},
		pool:   newPool(o.Network),
		active: map[string]*balancer{},
		groups: map[string]*group{},
	}
	b.Loop = poll.New("load balancers", o.Options, b.refresh)
	return b
}

// Run forwards traffic until ctx ends. Then it closes all connections and waits for its goroutines. State that cannot be
// read stays unchanged.
func (b *Balancer) Run(ctx context.Context) {
	b.Loop.Run(ctx)
	b.wg.Wait()
}

// refresh reconciles the load balancers with the account's load balancers.
func (b *Balancer) refresh(ctx context.Context) (settled bool, err error) {
	w, err := b.reader.read(ctx)
	if err != nil {
		return false, err
	}
	entries := b.entries()
	b.mu.Lock()
	defer b.mu.Unlock()
	for arn, spec := range w.groups {
		if b.groups[arn] == nil {
			b.groups[arn] = newGroup(&b.o)
		}
		b.groups[arn].update(ctx, &b.wg, spec)
	}
	wanted := map[string]bool{}
	for _, spec := range w.balancers {
		wanted[spec.arn] = true
		err = errors.Join(err, b.ensure(ctx, spec, entries[spec.arn]))
	}
	for arn, lb := range b.active {
		if !wanted[arn] {
			b.remove(arn, lb)
		}
	}
	for arn, g := range b.groups {
		if _, there := w.groups[arn]; !there {
			g.update(ctx, &b.wg, groupSpec{})
			delete(b.groups, arn)
		}
	}
	return w.settled, err
}

// entries are the entries of each load balancer, by ARN.
func (b *Balancer) entries() map[string][]Entry {
	entries := map[string][]Entry{}
	if b.o.Entries != nil {
		for _, e := range b.o.Entries() {
			entries[e.Balancer] = append(entries[e.Balancer], e)
		}
	}
	return entries
}

// ensure allocates the address of a load balancer and opens its listeners.
func (b *Balancer) ensure(ctx context.Context, spec balancerSpec, entries []Entry) error {
	lb := b.active[spec.arn]
	if lb == nil {
		lb = &balancer{name: spec.name, host: spec.host, listeners: map[uint16]*listener{}, entries: map[string]*entry{}}
		if b.o.PublicOnly && spec.internal {
			fmt.Fprintf(b.o.Progress, "load balancer %s\n", lb.name)
		} else {
			address, free := b.pool.take()
			if !free {
				return fmt.Errorf("no address for load balancer %s: %s has no more", spec.name, b.o.Network)
			}
			lb.address = address
			fmt.Fprintf(b.o.Progress, "load balancer %s at %s\n", lb.name, lb.address)
		}
		b.active[spec.arn] = lb
	}
	var err error
	if lb.address.IsValid() {
		here := Entry{}
		if spec.internal {
			here.VPC = spec.vpc
		}
		err = b.open(ctx, spec, lb.listeners, here, func(port uint16) (*net.TCPListener, error) {
			return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(lb.address, port)))
		})
	}
	wanted := map[string]Entry{}
	for _, e := range entries {
		wanted[e.ID] = e
	}
	for id, open := range lb.entries {
		if w, stays := wanted[id]; !stays || w.Zone != open.Zone {
			stop(open.listeners)
			delete(lb.entries, id)
		}
	}
	for id, e := range wanted {
		if lb.entries[id] == nil {
			lb.entries[id] = &entry{Entry: e, listeners: map[uint16]*listener{}}
		}
		err = errors.Join(err, b.open(ctx, spec, lb.entries[id].listeners, e, e.Listen))
	}
	return err
}

// open opens and closes listeners to match the load balancer.
func (b *Balancer) open(ctx context.Context, spec balancerSpec, listeners map[uint16]*listener, at Entry, listenOn func(uint16) (*net.TCPListener, error)) (err error) {
	for port, l := range listeners {
		if b.groups[spec.groups[port]] == nil {
			l.stop()
			delete(listeners, port)
		}
	}
	for port, arn := range spec.groups {
		g := b.groups[arn]
		if g == nil {
			continue // it is being created or deleted
		}
		l := listeners[port]
		if l == nil {
			socket, listenErr := listenOn(port)
			if listenErr != nil {
				err = errors.Join(err, fmt.Errorf("load balancer %s: opening port %d: %w", spec.name, port, listenErr))
				continue
			}
			from := entrance{zone: at.Zone, vpc: at.VPC, endpoint: at.Endpoint}
			if at.Allows != nil {
				from.allows = func(client netip.Addr) bool { return at.Allows(client, port) }
			}
			l = listen(ctx, &b.wg, socket, g, from)
			listeners[port] = l
		}
		l.group.Store(g)
	}
	return err
}

func stop(listeners map[uint16]*listener) {
	for _, l := range listeners {
		l.stop()
	}
}

func (b *Balancer) remove(arn string, lb *balancer) {
	stop(lb.listeners)
	for _, e := range lb.entries {
		stop(e.listeners)
	}
	b.pool.give(lb.address)
	delete(b.active, arn)
	fmt.Fprintf(b.o.Progress, "load balancer %s is deleted\n", lb.name)
}
