package cloud

import (
	"context"
	"fmt"
	"io"
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
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/cloudcontroller"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/balancer"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
	"github.com/hosted-control-planes/hypershift/test/lab/resolver"
	"github.com/hosted-control-planes/hypershift/test/lab/vpc"
)

// Port is the port of the emulator, DNSPort the resolver's port, TLSPort the port of the public names of S3.
const (
	Port    = 4566
	DNSPort = 53
	TLSPort = 443
)

// healthInterval is short enough for tests, and long enough to keep the load of empty connections on API servers small.
const healthInterval = 2 * time.Second

// Options configure a Cloud.
type Options struct {
	// Host is an address that is reachable from everywhere in the lab.
	Host string
	// Port, DNSPort and TLSPort default to the constants above.
	Port, DNSPort, TLSPort int
	// Network is the machines' network, Balancers the load balancers' network, a /16. All of its addresses are local.
	Network   netip.Prefix
	Balancers netip.Prefix
	// Services are the addresses that customers' VPCs reach besides AWS and public load balancers, such as a registry. Nil: VPCs carry no
	// packets, which needs no privileges.
	Services []netip.AddrPort
	// ControlPlane is the address from which this process and the API server connect to the machines of the management cluster.
	ControlPlane netip.Addr
	// Forward is the address of a DNS server for all other names. Without it, other names do not exist.
	Forward string
	// IdleTimeout is how long load balancers keep a connection without packets. Default: AWS's timeout.
	IdleTimeout time.Duration
	// Dir receives the log of the emulator, in logs.
	Dir string
	// Progress receives a line for each component that starts, is created, is deleted, or fails.
	Progress io.Writer
}

// Cloud is a running cloud.
type Cloud struct {
	AWS        *awsemulator.Emulator
	Management *awsemulator.Management

	balancers *balancers
	resolver  *resolver.Server
	network   *vpc.Network // nil: VPCs carry no packets
	workers   *instances
	changes   *changes
	s3        netip.AddrPort
	wg        sync.WaitGroup
}

// Start starts a cloud, which runs until ctx ends. awsemulator.Install must have run before, with access to the internet.
func Start(ctx context.Context, o Options) (_ *Cloud, err error) {
	if o.Port == 0 {
		o.Port = Port
	}
	if o.DNSPort == 0 {
		o.DNSPort = DNSPort
	}
	if o.TLSPort == 0 {
		o.TLSPort = TLSPort
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "logs"), 0o755); err != nil {
		return nil, fmt.Errorf("starting the cloud: %w", err)
	}
	log, err := os.Create(filepath.Join(o.Dir, "logs", "awsemulator.log"))
	if err != nil {
		return nil, fmt.Errorf("starting the cloud: %w", err)
	}
	c := &Cloud{workers: &instances{byID: map[string]Worker{}, management: map[string]vpc.Metadata{}}}
	c.AWS, err = awsemulator.Start(ctx, awsemulator.Options{Host: o.Host, Port: o.Port, Progress: o.Progress, Log: log})
	if err != nil {
		log.Close()
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		c.AWS.Stop()
		log.Close()
	})
	c.changes = newChanges(c.AWS)
	if err := c.seed(ctx, o); err != nil {
		return nil, err
	}
	if c.s3, err = c.serveS3(ctx, o); err != nil {
		return nil, err
	}
	if o.Services != nil {
		o.Services = append(slices.Clone(o.Services), c.s3)
		if err := c.connect(o); err != nil {
			return nil, err
		}
	}
	c.balancers = &balancers{cloud: c, o: o, byAccount: map[string]*balancer.Balancer{}}
	c.balancers.start(ctx, c.Management.Account)
	if err := c.resolve(ctx, o); err != nil {
		return nil, err
	}
	if c.network != nil {
		c.wg.Go(func() { c.network.Run(ctx) })
		c.wg.Go(func() { c.balancers.follow(ctx) })
	}
	return c, nil
}

// Wait returns when all goroutines and processes of Start have ended.
func (c *Cloud) Wait() { c.wg.Wait() }

// seed creates the account of the management cluster. Its zones have the same order by name and by id: if the zones of
// machines are named a, b and c, the customers' subnets are in the same zones.
func (c *Cloud) seed(ctx context.Context, o Options) (err error) {
	api := ec2.NewFromConfig(c.AWS.Config(awsemulator.ManagementAccount))
	described, err := api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return fmt.Errorf("describing zones: %w", err)
	}
	var zones, ids []string
	for _, zone := range described.AvailabilityZones {
		zones, ids = append(zones, aws.ToString(zone.ZoneName)), append(ids, aws.ToString(zone.ZoneId))
	}
	// The first names are the names of zones for control planes and for workers.
	served, err := awsemulator.CurrentZones(ctx, api)
	if err != nil {
		return err
	}
	slices.Sort(zones)
	slices.Sort(ids)
	ids = slices.Compact(append(served, slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(served, id) })...))
	byName := map[string]string{}
	for i, zone := range zones {
		byName[zone] = ids[i]
	}
	if err := c.AWS.SetZoneIDs(ctx, awsemulator.ManagementAccount, byName); err != nil {
		return err
	}
	c.Management, err = c.AWS.SeedManagement(ctx, awsemulator.ManagementOptions{
		CIDR: o.Network.String(), Empty: true, Internet: true, ControlPlane: o.ControlPlane,
	})
	return err
}

// interval is short enough that a change of the network takes effect within a second.
const interval = 250 * time.Millisecond

func (c *Cloud) poll(o Options) poll.Options {
	return poll.Options{Changed: c.changes.follower(), Interval: interval, Clock: clock.RealClock{}, Progress: o.Progress}
}

// resolve starts the resolver for the names of all accounts.
func (c *Cloud) resolve(ctx context.Context, o Options) (err error) {
	c.resolver, err = resolver.Start(resolver.Options{
		Listen:  net.JoinHostPort(o.Host, strconv.Itoa(o.DNSPort)),
		Forward: o.Forward,
		VPC:     c.Management.VPC,
		S3:      o.Host,
		Read:    c.AWS.Network,
		LoadBalancers: func() []resolver.LoadBalancer {
			var all []resolver.LoadBalancer
			for _, b := range c.balancers.snapshot() {
				if b.Address.IsValid() {
					all = append(all, resolver.LoadBalancer{Host: b.Host, Address: b.Address})
				}
			}
			return all
		},
		Options: c.poll(o),
	})
	if err != nil {
		return err
	}
	c.wg.Go(func() { c.resolver.Run(ctx) })
	return nil
}

// Controller returns the process specification of a management cluster's cloud-controller-manager, and the URL of its
// health endpoint. kubeconfig is the kubeconfig of cloudcontroller.User, which needs cloudcontroller.RBAC; dir receives its
// configuration.
func (c *Cloud) Controller(of *awsemulator.Management, program, kubeconfig, dir string) (process.Spec, string, error) {
	return cloudcontroller.Spec(cloudcontroller.Options{
		AWS: c.AWS, Account: of, Program: program, Kubeconfig: kubeconfig, Dir: dir,
	})
}
