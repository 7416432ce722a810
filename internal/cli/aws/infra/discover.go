package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Discovery contains all resources with the ownership tag, and all other resources in the VPCs of the cluster.
type Discovery struct {
	Graph *rg.Graph
	// Remaining are resources that the deletion leaves alone, for a person to decide.
	Remaining []Remaining
}

// Remaining is a resource that is not deleted.
type Remaining struct {
	Kind, ID, Reason string
}

func (r Remaining) String() string { return r.Kind + " " + r.ID + ": " + r.Reason }

// kind of a discovered resource. A resource is deleted before the resources that it uses.
type kind struct {
	title string
	uses  []string
}

var kinds = map[string]kind{
	"instance":         {"Instance", []string{"subnet", "security-group", "internet-gateway", "resource-share"}},
	"load-balancer":    {"Load balancer", []string{"subnet", "security-group", "internet-gateway", "target-group", "resource-share"}},
	"target-group":     {"Target group", []string{"vpc"}},
	"endpoint":         {"VPC endpoint", []string{"subnet", "security-group", "route-table", "vpc"}},
	"nat-gateway":      {"NAT gateway", []string{"subnet", "address", "internet-gateway"}},
	"internet-gateway": {"Internet gateway", []string{"vpc"}},
	"subnet":           {"Subnet", []string{"route-table", "vpc"}},
	"security-group":   {"Security group", []string{"vpc", "resource-share"}},
	"resource-share":   {"Resource share", []string{"subnet"}},
	"route-table":      {"Route table", []string{"vpc"}},
	"hosted-zone":      {"Private hosted zone", []string{"vpc"}},
	"vpc":              {"VPC", []string{"dhcp-options"}},
	"dhcp-options":     {"DHCP options", nil},
	"address":          {"Elastic IP address", nil},
}

// deletedAtOnce are the kinds of EC2 that are gone as soon as their deletion is answered.
var deletedAtOnce = []string{"internet-gateway", "subnet", "security-group", "route-table", "vpc", "dhcp-options", "address"}

type found struct {
	kind, id, name string
	// slow resources are read until they are gone.
	gone   func(context.Context) (bool, error)
	delete func(context.Context) error
	// owned is whether a resource of EC2 exists with the tag of the cluster. It is called after the deletion was refused.
	owned func(context.Context) (bool, error)
}

// Discover finds the resources that the deletion of the infrastructure deletes. zones are names of private zones that may exist although
// their VPC does not.
func (c *Cloud) Discover(ctx context.Context, zones ...string) (*Discovery, error) {
	// Resources that are found through the VPC need its id first.
	vpcs, err := c.vpcs.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, v := range vpcs {
		ids = append(ids, aws.ToString(v.VpcId))
	}
	all, remaining, err := c.discover(ctx, ids, ids, zones)
	if err != nil {
		return nil, err
	}
	if c.cluster != nil {
		// Remains of the cluster in its own account use the subnets. No VPC of that account is its own.
		ofCluster, rest, err := c.cluster.discover(ctx, nil, ids, zones)
		if err != nil {
			return nil, fmt.Errorf("in the account of the cluster: %w", err)
		}
		shares, _, err := c.discoverShares(ctx)
		if err != nil {
			return nil, err
		}
		all, remaining = slices.Concat(all, shares, ofCluster), append(remaining, rest...)
	}
	graph, err := rg.New(nodesOf(all)...)
	if err != nil {
		return nil, err
	}
	return &Discovery{Graph: graph, Remaining: remaining}, nil
}

// discover finds the cluster's resources in one account: resources with the tag, zones of the own VPCs, and contents of the VPCs with ids.
func (c *Cloud) discover(ctx context.Context, own, ids, zones []string) (all []found, remaining []Remaining, _ error) {
	parts := []func(context.Context) ([]found, []Remaining, error){
		c.discoverNetwork, c.discoverInstances, c.discoverGroups, c.discoverVolumes,
		func(ctx context.Context) ([]found, []Remaining, error) { return c.discoverZones(ctx, own, zones) },
	}
	if len(ids) > 0 {
		parts = append(parts,
			func(ctx context.Context) ([]found, []Remaining, error) { return c.discoverBalancers(ctx, ids) },
			func(ctx context.Context) ([]found, []Remaining, error) { return c.discoverInterfaces(ctx, ids) })
	}
	results := make([][]found, len(parts))
	rest := make([][]Remaining, len(parts))
	var group errgroup.Group
	for i, part := range parts {
		group.Go(func() (err error) {
			results[i], rest[i], err = part(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	all = slices.Concat(results...)
	for i, f := range all {
		if slices.Contains(deletedAtOnce, f.kind) {
			all[i].owned = func(ctx context.Context) (bool, error) { return c.isOwned(ctx, f.id) }
		}
	}
	return all, slices.Concat(rest...), nil
}

// isOwned returns whether a resource of EC2 exists with the tag of the cluster.
func (c *Cloud) isOwned(ctx context.Context, id string) (bool, error) {
	tags, err := c.ec2.DescribeTags(ctx, &ec2.DescribeTagsInput{Filters: []types.Filter{filter("resource-id", id), filter("key", c.owner.Tag())}})
	if err != nil {
		return false, fmt.Errorf("reading the tags of %s: %w", id, err)
	}
	return len(tags.Tags) > 0, nil
}

func nodesOf(all []found) []*rg.Node {
	byKind := map[string][]string{}
	for _, f := range all {
		byKind[f.kind] = append(byKind[f.kind], f.kind+"/"+f.id)
	}
	var nodes []*rg.Node
	for _, f := range all {
		n := &rg.Node{
			ID: f.kind + "/" + f.id, Kind: kinds[f.kind].title, Name: f.name, SlowDeletion: f.gone != nil,
			Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
				if l.Fresh && f.gone != nil {
					if gone, err := f.gone(ctx); gone || err != nil {
						return rg.Observed{}, err
					}
				} else if l.Fresh && f.owned != nil {
					if owned, err := f.owned(ctx); !owned || err != nil {
						return rg.Observed{}, err
					}
				}
				return rg.Observed{ID: f.id}, nil
			},
			Delete: func(ctx context.Context, _ rg.Observed) error { return f.delete(ctx) },
		}
		for _, k := range kinds[f.kind].uses {
			n.DependsOn = append(n.DependsOn, byKind[k]...)
		}
		// The tree has one level below the VPC.
		n.Parent = "-"
		if vpcs := byKind["vpc"]; len(vpcs) > 0 && f.kind != "vpc" {
			n.Parent = vpcs[0]
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (c *Cloud) owned() []types.Filter { return []types.Filter{filter("tag:"+c.owner.Tag(), "owned")} }
