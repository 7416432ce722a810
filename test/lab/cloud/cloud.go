package cloud

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/cloudcontroller"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/balancer"
	"github.com/hosted-control-planes/hypershift/test/lab/follow"
	"github.com/hosted-control-planes/hypershift/test/lab/resolver"
)

// Port is where the emulator listens, DNSPort where the resolver does.
const (
	Port    = 4566
	DNSPort = 53
)

// healthInterval is short enough not to wait for, and long enough that API servers do not spend their time on connections that
// say nothing.
const healthInterval = 2 * time.Second

// Options say where in a lab its cloud is.
type Options struct {
	// Host is an address that everybody in the lab reaches.
	Host string
	// Port and DNSPort are those of above, if they are 0.
	Port, DNSPort int
	// Network is that of the machines, Balancers that of the load balancers: all of its addresses are local ones.
	Network   netip.Prefix
	Balancers netip.Prefix
	// Forward is the address of a DNS server for all other names; without one they do not exist.
	Forward string
	// Dir gets the log of the emulator, in logs.
	Dir string
	// Progress gets a line per thing that starts, comes, goes, or fails.
	Progress io.Writer
}

// Cloud is a running one.
type Cloud struct {
	AWS        *awsemulator.Emulator
	Management *awsemulator.Management

	balancer *balancer.Balancer
	resolver *resolver.Server
	wg       sync.WaitGroup
}

// Start starts a cloud, which runs until ctx ends. awsemulator.Install has to have run where there is a way to the internet.
func Start(ctx context.Context, o Options) (_ *Cloud, err error) {
	if o.Port == 0 {
		o.Port = Port
	}
	if o.DNSPort == 0 {
		o.DNSPort = DNSPort
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "logs"), 0o755); err != nil {
		return nil, fmt.Errorf("starting the cloud: %w", err)
	}
	log, err := os.Create(filepath.Join(o.Dir, "logs", "awsemulator.log"))
	if err != nil {
		return nil, fmt.Errorf("starting the cloud: %w", err)
	}
	c := &Cloud{}
	c.AWS, err = awsemulator.Start(ctx, awsemulator.Options{Host: o.Host, Port: o.Port, Progress: o.Progress, Log: log})
	if err != nil {
		log.Close()
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		c.AWS.Stop()
		log.Close()
	})
	if err := c.seed(ctx, o); err != nil {
		return nil, err
	}
	c.balance(ctx, o)
	return c, c.resolve(ctx, o)
}

// Wait returns when all that Start has started has ended.
func (c *Cloud) Wait() { c.wg.Wait() }

// seed makes the account of the management cluster. Zones have the same order there by name and by id: where machines are named
// a, b and c, the customers' subnets are in the same places.
func (c *Cloud) seed(ctx context.Context, o Options) (err error) {
	described, err := ec2.NewFromConfig(c.AWS.Config(awsemulator.ManagementAccount)).
		DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return fmt.Errorf("describing zones: %w", err)
	}
	var zones, ids []string
	for _, zone := range described.AvailabilityZones {
		zones, ids = append(zones, aws.ToString(zone.ZoneName)), append(ids, aws.ToString(zone.ZoneId))
	}
	slices.Sort(zones)
	slices.Sort(ids)
	byName := map[string]string{}
	for i, zone := range zones {
		byName[zone] = ids[i]
	}
	if err := c.AWS.SetZoneIDs(ctx, awsemulator.ManagementAccount, byName); err != nil {
		return err
	}
	c.Management, err = c.AWS.SeedManagement(ctx, awsemulator.ManagementOptions{CIDR: o.Network.String(), Empty: true})
	return err
}

// balance lets the load balancers of the management account carry traffic.
func (c *Cloud) balance(ctx context.Context, o Options) {
	config := c.AWS.Config(c.Management.Account)
	c.balancer = balancer.New(balancer.Options{
		LoadBalancers:  elb.NewFromConfig(config),
		Instances:      ec2.NewFromConfig(config),
		Network:        o.Balancers,
		HealthInterval: healthInterval,
		Options:        follow.Options{Changed: (&changes{aws: c.AWS}).any, Clock: clock.RealClock{}, Progress: o.Progress},
	})
	c.wg.Go(func() { c.balancer.Run(ctx) })
}

// resolve lets names be found, those of all accounts.
func (c *Cloud) resolve(ctx context.Context, o Options) (err error) {
	seen := &changes{aws: c.AWS, accounts: map[string]bool{c.Management.Account: true}}
	accounts := map[string]resolver.Account{}
	c.resolver, err = resolver.Start(resolver.Options{
		Listen:  net.JoinHostPort(o.Host, strconv.Itoa(o.DNSPort)),
		Forward: o.Forward,
		Accounts: func() []resolver.Account {
			for id := range seen.accounts {
				if _, known := accounts[id]; !known {
					config := c.AWS.Config(id)
					accounts[id] = resolver.Account{Zones: route53.NewFromConfig(config), Endpoints: ec2.NewFromConfig(config)}
				}
			}
			return slices.Collect(maps.Values(accounts))
		},
		LoadBalancers: func() []resolver.LoadBalancer {
			var all []resolver.LoadBalancer
			for _, b := range c.balancer.Snapshot() {
				all = append(all, resolver.LoadBalancer{ARN: b.ARN, Host: b.Host, Address: b.Address})
			}
			return all
		},
		Options: follow.Options{Changed: seen.any, Clock: clock.RealClock{}, Progress: o.Progress},
	})
	if err != nil {
		return err
	}
	c.wg.Go(func() { c.resolver.Run(ctx) })
	return nil
}

// Controller says how the cloud-controller-manager of the management cluster is run, and where it says that it is well.
// kubeconfig is that of cloudcontroller.User, who may what cloudcontroller.RBAC says; dir gets its configuration.
func (c *Cloud) Controller(program, kubeconfig, dir string) (process.Spec, string, error) {
	return cloudcontroller.Spec(cloudcontroller.Options{
		AWS: c.AWS, Account: c.Management, Program: program, Kubeconfig: kubeconfig, Dir: dir,
	})
}
