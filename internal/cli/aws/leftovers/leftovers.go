// Package leftovers finds everything in one account that carries the ownership tag of a cluster, or that only such a cluster has: the
// network and the resources of a hosted cluster in it, roles, and the endpoint services of the management account.
package leftovers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Cost is the class of AWS's price of an unused resource.
type Cost string

const (
	// Hourly resources cost money for each hour.
	Hourly Cost = "hourly"
	// Stored resources cost money for each month, by their size or number.
	Stored Cost = "monthly"
	// Free resources have no price. They use a quota.
	Free Cost = "none"
)

var costs = map[string]Cost{
	"Instance": Hourly, "Load balancer": Hourly, "VPC endpoint": Hourly, "NAT gateway": Hourly, "Elastic IP address": Hourly,
	"Private hosted zone": Stored, "Volume": Stored, "Snapshot": Stored,
}

// Resource is a resource that was found.
type Resource struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Cost Cost   `json:"cost"`
	// Kept is why it is not deleted.
	Kept string `json:"kept,omitempty"`
}

// Finding contains the resources that were found in an account.
type Finding struct {
	// Graph deletes the resources in the right order.
	Graph     *rg.Graph
	Resources []Resource
}

// Find finds the resources of the owner in the account and the region of the session. zones are names of its private hosted zones, which
// are found without their VPC.
func Find(ctx context.Context, cfg aws.Config, owner awsgraph.Owner, zones ...string) (*Finding, error) {
	var network *infra.Discovery
	var identities *rg.Graph
	var services []*rg.Node
	var foreign []error
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		network, err = infra.NewCloud(cfg, owner).Discover(groupCtx, zones...)
		return err
	})
	group.Go(func() (err error) {
		identities, foreign, err = clusteriam.NewCloud(cfg, owner).Discover(groupCtx)
		return err
	})
	group.Go(func() (err error) {
		services, err = endpointServices(groupCtx, cfg, owner)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// A load balancer is deleted after the endpoint service that offers it.
	for _, n := range network.Graph.Nodes() {
		if strings.HasPrefix(n.ID, "load-balancer/") {
			for _, s := range services {
				s.DependsOn = append(s.DependsOn, n.ID)
			}
		}
	}
	nodes := slices.Concat(network.Graph.Nodes(), identities.Nodes(), services)
	graph, err := rg.New(nodes...)
	if err != nil {
		return nil, err
	}
	f := &Finding{Graph: graph}
	for _, n := range nodes {
		seen, err := n.Read(ctx, rg.Lookup{})
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", n.Kind, n.Name, err)
		}
		f.Resources = append(f.Resources, Resource{Kind: n.Kind, ID: seen.ID, Name: n.Name, Cost: costOf(n.Kind)})
	}
	for _, r := range network.Remaining {
		f.Resources = append(f.Resources, Resource{Kind: r.Kind, ID: r.ID, Cost: costOf(r.Kind), Kept: r.Reason})
	}
	for _, err := range foreign {
		f.Resources = append(f.Resources, Resource{Kind: "Role or profile", Cost: Free, Kept: err.Error()})
	}
	order := map[Cost]int{Hourly: 0, Stored: 1, Free: 2}
	slices.SortStableFunc(f.Resources, func(a, b Resource) int {
		if d := order[a.Cost] - order[b.Cost]; d != 0 {
			return d
		}
		return strings.Compare(a.Kind+a.Name+a.ID, b.Kind+b.Name+b.ID)
	})
	return f, nil
}

func costOf(kind string) Cost {
	if c := costs[kind]; c != "" {
		return c
	}
	return Free
}

// endpointServices returns the endpoint services of a cluster, which are in the management account.
func endpointServices(ctx context.Context, cfg aws.Config, owner awsgraph.Owner) (nodes []*rg.Node, _ error) {
	api := awsx.EC2(cfg)
	pages := ec2.NewDescribeVpcEndpointServiceConfigurationsPaginator(api, &ec2.DescribeVpcEndpointServiceConfigurationsInput{Filters: []types.Filter{
		{Name: aws.String("tag:" + owner.Tag()), Values: []string{names.ClusterTagValue}},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing endpoint services: %w", err)
		}
		for _, s := range page.ServiceConfigurations {
			if !owner.Owns(ec2util.Tags(s.Tags)) || strings.EqualFold(string(s.ServiceState), string(types.ServiceStateDeleted)) {
				continue
			}
			id := aws.ToString(s.ServiceId)
			nodes = append(nodes, &rg.Node{
				ID: "endpoint-service/" + id, Kind: "Endpoint service", Name: ec2util.Tags(s.Tags)[awsx.NameTag], Parent: "-",
				Read:   func(context.Context, rg.Lookup) (rg.Observed, error) { return rg.Observed{ID: id}, nil },
				Delete: func(ctx context.Context, _ rg.Observed) error { return deleteService(ctx, api, id) },
			})
		}
	}
	return nodes, nil
}

// deleteService rejects the connections of the service, because AWS deletes no service with connections, and deletes it.
func deleteService(ctx context.Context, api *ec2.Client, id string) error {
	var connected []string
	pages := ec2.NewDescribeVpcEndpointConnectionsPaginator(api, &ec2.DescribeVpcEndpointConnectionsInput{Filters: []types.Filter{{Name: aws.String("service-id"), Values: []string{id}}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading the connections of endpoint service %s: %w", id, err)
		}
		for _, c := range page.VpcEndpointConnections {
			switch strings.ToLower(string(c.VpcEndpointState)) {
			case "pendingacceptance", "pending", "available":
				connected = append(connected, aws.ToString(c.VpcEndpointId))
			}
		}
	}
	if len(connected) > 0 {
		// A connection that is not rejected, because the endpoint is just being deleted, shows in the next call.
		if _, err := api.RejectVpcEndpointConnections(ctx, &ec2.RejectVpcEndpointConnectionsInput{ServiceId: aws.String(id), VpcEndpointIds: connected}); err != nil {
			return fmt.Errorf("rejecting the connections of endpoint service %s: %w", id, err)
		}
	}
	out, err := api.DeleteVpcEndpointServiceConfigurations(ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
	if err != nil {
		return err
	}
	if refused := ec2util.Refusal("DeleteVpcEndpointServiceConfigurations", out.Unsuccessful); refused != nil && !awsx.IsNotFound(refused) {
		return refused
	}
	return nil
}

// Clusters returns the infra IDs of all clusters that own EC2 resources in the region, with the number of resources. EC2 keeps the tags of
// some resources for about an hour after these are gone. They do not count.
func Clusters(ctx context.Context, cfg aws.Config) (map[string]int, error) {
	api := awsx.EC2(cfg)
	owners := map[types.ResourceType]map[string]string{} // infra IDs by the id of the resource
	prefix := names.ClusterTag("")
	pages := ec2.NewDescribeTagsPaginator(api, &ec2.DescribeTagsInput{Filters: []types.Filter{
		{Name: aws.String("key"), Values: []string{prefix + "*"}},
		{Name: aws.String("value"), Values: []string{names.ClusterTagValue}},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing tags: %w", err)
		}
		for _, t := range page.Tags {
			if infraID, ok := strings.CutPrefix(aws.ToString(t.Key), prefix); ok && aws.ToString(t.Value) == names.ClusterTagValue {
				if owners[t.ResourceType] == nil {
					owners[t.ResourceType] = map[string]string{}
				}
				owners[t.ResourceType][aws.ToString(t.ResourceId)] = infraID
			}
		}
	}
	found := map[string]int{}
	for kind, ofKind := range owners {
		living, err := living(ctx, api, kind, slices.Sorted(maps.Keys(ofKind)))
		if err != nil {
			return nil, err
		}
		for _, id := range living {
			found[ofKind[id]]++
		}
	}
	return found, nil
}

// Sorted returns the infra IDs in order.
func Sorted(clusters map[string]int) []string { return slices.Sorted(maps.Keys(clusters)) }
