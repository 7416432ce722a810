package cloud

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/hosted-control-planes/hypershift/test/lab/balancer"
)

// balancers are the load balancers of all accounts.
type balancers struct {
	cloud *Cloud
	o     Options

	mu        sync.Mutex
	byAccount map[string]*balancer.Balancer
}

// follow starts the load balancers of customers with a VPC in their accounts.
func (b *balancers) follow(ctx context.Context) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		for _, account := range b.cloud.network.Accounts() {
			b.start(ctx, account)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// start makes the load balancers of an account forward traffic, unless they do so. Each account has addresses of its own.
func (b *balancers) start(ctx context.Context, account string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byAccount[account] != nil {
		return
	}
	c := b.cloud
	config, following := c.AWS.Config(account), c.poll(b.o)
	if c.network != nil {
		following.Changed = c.orEndpoints(following.Changed)
	}
	options := balancer.Options{
		LoadBalancers:  elb.NewFromConfig(config),
		Instances:      ec2.NewFromConfig(config),
		Network:        b.addresses(len(b.byAccount)),
		Entries:        c.entries(),
		Zone:           c.zone(),
		HealthInterval: healthInterval,
		IdleTimeout:    b.o.IdleTimeout,
		Options:        following,
	}
	if c.network != nil {
		options.PublicOnly, options.Dial, options.Instance = account != c.Management.Account, c.network.Dial, c.network.Instance
	}
	made := balancer.New(options)
	b.byAccount[account] = made
	c.wg.Go(func() { made.Run(ctx) })
}

// addresses are the addresses of the load balancers of account n.
func (b *balancers) addresses(n int) netip.Prefix {
	base := b.o.Balancers.Masked().Addr().As4()
	base[2] = byte(n) // an address of another account after 256 of them
	return netip.PrefixFrom(netip.AddrFrom4(base), 24)
}

// snapshot is the state of all load balancers, sorted by name.
func (b *balancers) snapshot() []balancer.Status {
	var all []balancer.Status
	for _, one := range b.list() {
		all = append(all, one.Snapshot()...)
	}
	slices.SortFunc(all, func(x, y balancer.Status) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// trouble are the current errors.
func (b *balancers) trouble() error {
	var errs []error
	for _, one := range b.list() {
		if trouble := one.Trouble(); trouble != "" {
			errs = append(errs, errors.New(trouble))
		}
	}
	return errors.Join(errs...)
}

func (b *balancers) list() []*balancer.Balancer {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*balancer.Balancer
	for _, one := range b.byAccount {
		all = append(all, one)
	}
	return all
}

// entries are the interfaces of load balancers and endpoints in VPCs.
func (c *Cloud) entries() func() []balancer.Entry {
	if c.network == nil {
		return nil
	}
	return func() []balancer.Entry {
		var all []balancer.Entry
		for _, e := range c.network.Entries() {
			entry := balancer.Entry{
				ID: e.ID, Balancer: e.Balancer, Zone: e.Zone, VPC: e.VPC, Endpoint: e.Endpoint,
				Listen: e.Listen,
			}
			if e.PrivateLink {
				entry.Allows = func(client netip.Addr, port uint16) bool { return c.network.Allows(e.Balancer, client, port) }
			}
			all = append(all, entry)
		}
		return all
	}
}
