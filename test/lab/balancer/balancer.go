package balancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// Options configure a Balancer.
type Options struct {
	LoadBalancers LoadBalancers
	Instances     Instances
	// Network has the addresses of load balancers. All of them must be addresses of this machine.
	Network netip.Prefix
	// HealthInterval is how often targets are checked. Default: a second.
	HealthInterval time.Duration
	// Drain is how long connections to a deregistered target stay open. Default: that of AWS.
	Drain time.Duration
	// Progress receives a line for each load balancer that is created or deleted, too.
	poll.Options
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
	address    netip.Addr
	listeners  map[uint16]*listener
}

// New returns a Balancer; Run starts it.
func New(o Options) *Balancer {
	o.HealthInterval = cmp.Or(o.HealthInterval, time.Second)
	o.Drain = cmp.Or(o.Drain, 300*time.Second)
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

// refresh reconciles the load balancers with those of the account.
func (b *Balancer) refresh(ctx context.Context) (settled bool, err error) {
	w, err := b.reader.read(ctx)
	if err != nil {
		return false, err
	}
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
		err = errors.Join(err, b.ensure(ctx, spec))
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

// ensure allocates the address of a load balancer and opens its listeners.
func (b *Balancer) ensure(ctx context.Context, spec balancerSpec) (err error) {
	lb := b.active[spec.arn]
	if lb == nil {
		address, free := b.pool.take()
		if !free {
			return fmt.Errorf("no address for load balancer %s: %s has no more", spec.name, b.o.Network)
		}
		lb = &balancer{name: spec.name, host: spec.host, address: address, listeners: map[uint16]*listener{}}
		b.active[spec.arn] = lb
		fmt.Fprintf(b.o.Progress, "load balancer %s at %s\n", lb.name, lb.address)
	}
	for port, l := range lb.listeners {
		if b.groups[spec.groups[port]] == nil {
			l.stop()
			delete(lb.listeners, port)
		}
	}
	for port, arn := range spec.groups {
		g := b.groups[arn]
		if g == nil {
			continue // it is being created or deleted
		}
		l := lb.listeners[port]
		if l == nil {
			opened, openErr := listen(ctx, &b.wg, netip.AddrPortFrom(lb.address, port), g)
			if openErr != nil {
				err = fmt.Errorf("load balancer %s: %w", spec.name, openErr)
				continue
			}
			l, lb.listeners[port] = opened, opened
		}
		l.group.Store(g)
	}
	return err
}

func (b *Balancer) remove(arn string, lb *balancer) {
	for _, l := range lb.listeners {
		l.stop()
	}
	b.pool.give(lb.address)
	delete(b.active, arn)
	fmt.Fprintf(b.o.Progress, "load balancer %s is deleted\n", lb.name)
}
