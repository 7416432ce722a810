package cluster

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/discovery"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// prerequisites makes the checks of `doctor` for the new cluster before anything is created, and returns the zones of its network.
func (o *createOptions) prerequisites(ctx context.Context, env operation.Environment, m *management.API, t Target) ([]string, error) {
	server, err := discovery.NewDiscoveryClientForConfig(m.Config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	facts := &prerequisites.Facts{Now: env.Clock.Now(), ClientVersion: version.Get().Version, Namespace: o.operatorNamespace}
	prerequisites.GatherZones(ctx, m, facts)
	zones, err := t.zones(ctx, facts)
	if err != nil {
		return nil, err
	}
	if c := facts.AWS.Cluster; c != nil {
		if err := t.describe(c); err != nil {
			return nil, err
		}
	}
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	prerequisites.Gather(ctx, m, server, web, facts)
	if c := facts.AWS.Cluster; c != nil {
		facts.GatherRelease(ctx, c.Release, release.Options{Clock: env.Clock})
	}
	prerequisites.GatherAWS(ctx, t.AWS, nil, facts)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return zones, operation.Report(env, prerequisites.Run(facts), o.ignoreFailed)
}

// zones resolves the zones of the network, which are names or ids. By default it is a zone that the management cluster serves.
func (t Target) zones(ctx context.Context, facts *prerequisites.Facts) ([]string, error) {
	prerequisites.GatherAvailabilityZones(ctx, t.AWS, facts)
	if err := facts.AWS.Errors["zones"]; err != nil {
		if t.GivenNetwork {
			return t.Network.Zones, nil // the zones of a network that exists are not resolved
		}
		return nil, err
	}
	private := t.Cluster.EndpointAccess == hyperv1.Private || t.Cluster.EndpointAccess == hyperv1.PublicAndPrivate
	given := t.Network.Zones
	if t.GivenNetwork {
		given = nil
		for _, z := range t.Cluster.Infra.Zones {
			given = append(given, z.Name)
		}
	}
	if len(given) == 0 {
		first, err := facts.FirstZone(private)
		if err != nil {
			return nil, err
		}
		given = []string{first.Name}
	}
	found, err := facts.AWS.AvailabilityZones.Resolve(t.AWS.Region, given)
	if err != nil {
		return nil, &operation.UsageError{Err: fmt.Errorf("--zones: %w", err)}
	}
	facts.AWS.Cluster = &prerequisites.Cluster{New: true, Private: private, Zones: found}
	if t.GivenNetwork {
		return t.Network.Zones, nil
	}
	return found.Names(), nil
}

// describe adds the facts for the checks of the account.
func (t Target) describe(c *prerequisites.Cluster) error {
	// A shared VPC uses quotas of another account.
	c.Continued = t.Continued || t.GivenNetwork || t.VPCOwner.Given()
	c.Spot = t.Cluster.AutoNode
	c.Release = &prerequisites.Release{Image: t.Cluster.Release, PullSecret: t.Cluster.PullSecret, Mirrors: t.Cluster.ImageContentSources}
	if !t.Cluster.WithoutPools {
		pool := t.Cluster.Pool
		c.Machines = []prerequisites.Machines{{InstanceType: pool.InstanceType, Arch: pool.Arch, Zones: c.Zones, Count: int(pool.Replicas) * len(c.Zones)}}
	}
	n := t.Network
	switch {
	case n.PublicOnly, n.HasProxy(): // no NAT gateway
	case n.SingleNATGateway:
		c.Needs.Addresses, c.Needs.NATs = 1, 1
	default:
		c.Needs.Addresses, c.Needs.NATs = len(c.Zones), 1
	}
	var commands []string
	if !t.GivenNetwork && !t.VPCOwner.Given() {
		c.Owner = n.Owner()
		commands = append(commands, "create-infra")
	}
	if !t.GivenRoles {
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
