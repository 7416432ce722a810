package cluster

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/client-go/discovery"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// prerequisites makes the checks of `doctor` for the new cluster before anything is created, and resolves the zones.
func (o *createOptions) prerequisites(ctx context.Context, env operation.Environment, m *management.API, cfg aws.Config) error {
	server, err := discovery.NewDiscoveryClientForConfig(m.Config)
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	facts := &prerequisites.Facts{Now: env.Clock.Now(), ClientVersion: version.Get().Version, Namespace: o.operatorNamespace}
	prerequisites.GatherZones(ctx, m, facts)
	if err := o.zones(ctx, cfg, facts); err != nil {
		return err
	}
	if c := facts.AWS.Cluster; c != nil {
		if err := o.describe(c); err != nil {
			return err
		}
	}
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	prerequisites.Gather(ctx, m, server, web, facts)
	if c := facts.AWS.Cluster; c != nil {
		facts.GatherRelease(ctx, c.Release, release.Options{Clock: env.Clock})
	}
	prerequisites.GatherAWS(ctx, cfg, nil, facts)
	if err := ctx.Err(); err != nil {
		return err
	}
	return operation.Report(env, prerequisites.Run(facts), o.ignoreFailed)
}

// zones resolves the zones of the network, which are names or ids. By default it is a zone that the management cluster serves.
func (o *createOptions) zones(ctx context.Context, cfg aws.Config, facts *prerequisites.Facts) error {
	prerequisites.GatherAvailabilityZones(ctx, cfg, facts)
	if err := facts.AWS.Errors["zones"]; err != nil {
		if o.infraJSON != "" {
			return nil // the zones of a network that exists are not resolved
		}
		return err
	}
	private := o.cluster.EndpointAccess == hyperv1.Private || o.cluster.EndpointAccess == hyperv1.PublicAndPrivate
	given := o.network.Zones
	if o.infraJSON != "" {
		given = nil
		for _, z := range o.cluster.Infra.Zones {
			given = append(given, z.Name)
		}
	}
	if len(given) == 0 {
		first, err := facts.FirstZone(private)
		if err != nil {
			return err
		}
		given = []string{first.Name}
	}
	found, err := facts.AWS.AvailabilityZones.Resolve(cfg.Region, given)
	if err != nil {
		return &operation.UsageError{Err: fmt.Errorf("--zones: %w", err)}
	}
	if o.infraJSON == "" {
		o.network.Zones = found.Names()
	}
	facts.AWS.Cluster = &prerequisites.Cluster{New: true, Private: private, Zones: found}
	return nil
}

// describe adds the facts for the checks of the account.
func (o *createOptions) describe(c *prerequisites.Cluster) error {
	// A shared VPC uses quotas of another account.
	c.Continued = o.continued || o.infraJSON != "" || o.vpcOwner.Given()
	c.Spot = o.cluster.AutoNode
	c.Release = &prerequisites.Release{Image: o.cluster.Release, PullSecret: o.cluster.PullSecret, Mirrors: o.cluster.ImageContentSources}
	if !o.cluster.WithoutPools {
		pool := o.cluster.Pool
		c.Machines = []prerequisites.Machines{{InstanceType: pool.InstanceType, Arch: pool.Arch, Zones: c.Zones, Count: int(pool.Replicas) * len(c.Zones)}}
	}
	n := &o.network
	switch {
	case n.PublicOnly, n.HasProxy(): // no NAT gateway
	case n.SingleNATGateway:
		c.Needs.Addresses, c.Needs.NATs = 1, 1
	default:
		c.Needs.Addresses, c.Needs.NATs = len(c.Zones), 1
	}
	var commands []string
	if o.infraJSON == "" && !o.vpcOwner.Given() {
		c.Owner = n.Owner()
		commands = append(commands, "create-infra")
	}
	if o.iamJSON == "" {
		commands = append(commands, "create-iam")
	}
	for _, command := range commands {
		policy, err := iam.FillCommand(command, map[string]string{"INFRA_ID": n.InfraID})
		if err != nil {
			return err
		}
		c.Policies = append(c.Policies, policy)
	}
	return nil
}
