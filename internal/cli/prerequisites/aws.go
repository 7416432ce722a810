package prerequisites

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
)

// Existing is a cluster that an account is checked for.
type Existing struct {
	*hyperv1.HostedCluster
	NodePools []hyperv1.NodePool
}

// hostedZones returns the hosted zones of the cluster, and whether each must be private.
func (e *Existing) hostedZones() map[string]bool {
	zones := map[string]bool{e.Spec.DNS.PublicZoneID: false, e.Spec.DNS.PrivateZoneID: true}
	delete(zones, "")
	return zones
}

// subnets returns the subnets of the node pools.
func (e *Existing) subnets() (ids []string) {
	for i := range e.NodePools {
		if aws := e.NodePools[i].Spec.Platform.AWS; aws != nil && aws.Subnet.ID != nil {
			ids = append(ids, *aws.Subnet.ID)
		}
	}
	return ids
}

func (e *Existing) vpc() string {
	if c := e.Spec.Platform.AWS.CloudProviderConfig; c != nil {
		return c.VPC
	}
	return ""
}

// isPrivate is true if nodes reach the API server through an endpoint.
func isPrivate(access hyperv1.AWSEndpointAccessType) bool {
	return access == hyperv1.Private || access == hyperv1.PublicAndPrivate
}

// GatherAWS reads the facts of the account of cfg. It follows Gather: the zones of nodes are compared. existing may be nil. A new cluster is
// in the facts already.
func GatherAWS(ctx context.Context, cfg aws.Config, existing *Existing, f *Facts) {
	if f.AWS == nil {
		GatherAvailabilityZones(ctx, cfg, f)
		if existing != nil {
			f.describe(ctx, cfg, existing)
		}
	}
	a := f.AWS
	a.Account, a.Zones = "AWS", map[string]error{}
	var err error
	if a.Caller, err = awsgraph.CallerOf(ctx, cfg); err != nil {
		a.Errors["addresses"] = errors.New(awsx.Message(err))
		return
	}
	a.Account = a.Caller.Account
	vpc := ""
	if existing != nil {
		vpc = existing.vpc()
	}
	if a.Cluster != nil && a.Cluster.New {
		a.gatherNeeds(ctx, cfg)
	}
	var group sync.WaitGroup
	group.Go(func() {
		a.Quotas = accountcheck.Quotas(ctx, cfg, vpc, a.needs())
		for i, q := range a.Quotas {
			if q.Err != nil {
				a.Quotas[i].Err = errors.New(awsx.Message(q.Err))
			}
		}
	})
	if a.Cluster != nil {
		group.Go(func() { a.gatherMachines(ctx, cfg) })
	}
	addresses, quota, addressErr := 0, 0, error(nil)
	group.Go(func() { addresses, quota, addressErr = accountcheck.Addresses(ctx, cfg) })
	if existing != nil {
		group.Go(func() {
			for id, private := range existing.hostedZones() {
				a.Zones[id] = nil
				if err := accountcheck.Zone(ctx, cfg, id, existing.Spec.DNS.BaseDomain, private); err != nil {
					a.Zones[id] = errors.New(awsx.Message(err))
				}
			}
		})
	}
	a.gatherIdentity(ctx, cfg)
	group.Wait()
	if a.Addresses, a.AddressQuota = addresses, quota; addressErr != nil {
		a.Errors["addresses"] = errors.New(awsx.Message(addressErr))
	}
}

// GatherAvailabilityZones reads the zones of the account, and whether the nodes of the management cluster are in this account. It follows
// GatherZones.
func GatherAvailabilityZones(ctx context.Context, cfg aws.Config, f *Facts) {
	if f.AWS == nil {
		f.AWS = &AWS{Region: cfg.Region, Errors: map[string]error{}}
	}
	all, err := zone.Describe(ctx, awsx.EC2(cfg))
	if err == nil {
		f.AWS.AvailabilityZones = all
		if len(f.Served().IDs) == 0 {
			// The names of the nodes' zones have a meaning only in the account of the nodes.
			f.AWS.Nodes, err = accountcheck.HasInstance(ctx, cfg, f.instance())
		}
	}
	if err != nil {
		f.AWS.Errors["zones"] = errors.New(awsx.Message(err))
	}
}

// describe returns the facts that the checks need about an existing cluster.
func (f *Facts) describe(ctx context.Context, cfg aws.Config, existing *Existing) {
	c := &Cluster{Private: isPrivate(existing.Spec.Platform.AWS.EndpointAccess), Spot: existing.Spec.AutoNode.Karpenter() != nil}
	f.AWS.Cluster = c
	zoneOf, err := accountcheck.ZonesOfSubnets(ctx, cfg, existing.subnets())
	if err != nil {
		f.AWS.Errors["zones"] = errors.New(awsx.Message(err))
	}
	c.Zones = f.AWS.AvailabilityZones.Of(slices.Collect(maps.Values(zoneOf)))
	for i := range existing.NodePools {
		np := &existing.NodePools[i]
		aws := np.Spec.Platform.AWS
		if aws == nil || aws.InstanceType == "" {
			continue
		}
		m := Machines{InstanceType: aws.InstanceType, Arch: cmp.Or(np.Spec.Arch, hyperv1.ArchitectureAMD64), Image: aws.AMI}
		if aws.Subnet.ID != nil {
			m.Zones = f.AWS.AvailabilityZones.Of([]string{zoneOf[*aws.Subnet.ID]})
		}
		c.Machines = append(c.Machines, m)
	}
}

// instance returns the instance of a node of the management cluster: the last part of aws:///us-east-1a/i-0123.
func (f *Facts) instance() string {
	for i := range f.Nodes {
		if id := f.Nodes[i].Spec.ProviderID; strings.HasPrefix(id, "aws://") {
			return id[strings.LastIndex(id, "/")+1:]
		}
	}
	return ""
}
