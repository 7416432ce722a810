package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	rg "github.com/hosted-control-planes/hypershift/internal/resourcegraph"
)

// Discovery is everything with the ownership tag, and what else is in the VPCs of the cluster.
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

// kind of a discovered resource. A resource is deleted before those of the kinds that it uses.
type kind struct {
	title string
	uses  []string
}

var kinds = map[string]kind{
	"instance":         {"Instance", []string{"subnet", "security-group", "internet-gateway"}},
	"load-balancer":    {"Load balancer", []string{"subnet", "security-group", "internet-gateway", "target-group"}},
	"target-group":     {"Target group", []string{"vpc"}},
	"endpoint":         {"VPC endpoint", []string{"subnet", "security-group", "route-table", "vpc"}},
	"nat-gateway":      {"NAT gateway", []string{"subnet", "address", "internet-gateway"}},
	"internet-gateway": {"Internet gateway", []string{"vpc"}},
	"subnet":           {"Subnet", []string{"route-table", "vpc"}},
	"security-group":   {"Security group", []string{"vpc"}},
	"route-table":      {"Route table", []string{"vpc"}},
	"hosted-zone":      {"Private hosted zone", []string{"vpc"}},
	"vpc":              {"VPC", []string{"dhcp-options"}},
	"dhcp-options":     {"DHCP options", nil},
	"address":          {"Elastic IP address", nil},
}

type found struct {
	kind, id, name string
	// slow resources are read until they are gone.
	gone   func(context.Context) (bool, error)
	delete func(context.Context) error
}

// Discover finds what the deletion of the infrastructure deletes. zones are names of private zones that may exist although
// their VPC does not.
func (c *Cloud) Discover(ctx context.Context, zones ...string) (*Discovery, error) {
	var all []found
	var remaining []Remaining
	parts := []func(context.Context) ([]found, []Remaining, error){
		c.discoverNetwork, c.discoverInstances, c.discoverGroups, c.discoverVolumes,
	}
	// What is found through the VPC needs its id first.
	vpcs, err := c.vpcs.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, v := range vpcs {
		ids = append(ids, aws.ToString(v.VpcId))
	}
	parts = append(parts, func(ctx context.Context) ([]found, []Remaining, error) { return c.discoverZones(ctx, ids, zones) })
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
		return nil, err
	}
	all, remaining = slices.Concat(results...), slices.Concat(rest...)
	graph, err := rg.New(nodesOf(all)...)
	if err != nil {
		return nil, err
	}
	return &Discovery{Graph: graph, Remaining: remaining}, nil
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

func (c *Cloud) discoverNetwork(ctx context.Context) ([]found, []Remaining, error) {
	var all []found
	vpcs, err := c.vpcs.Get(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range vpcs {
		id := aws.ToString(v.VpcId)
		all = append(all, found{kind: "vpc", id: id, name: tagsOf(v.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String(id)})
			return err
		}})
	}
	options, err := c.dhcp.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range options {
		id := aws.ToString(d.DhcpOptionsId)
		all = append(all, found{kind: "dhcp-options", id: id, delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.DeleteDhcpOptions(ctx, &ec2.DeleteDhcpOptionsInput{DhcpOptionsId: aws.String(id)})
			return err
		}})
	}
	gateways, err := c.gateways.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range gateways {
		all = append(all, found{kind: "internet-gateway", id: aws.ToString(g.InternetGatewayId), name: tagsOf(g.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			for _, a := range g.Attachments {
				_, err := c.ec2Writer.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: g.InternetGatewayId, VpcId: a.VpcId})
				if err != nil && !awsx.IsNotFound(err) && awsx.Code(err) != "Gateway.NotAttached" {
					return err
				}
			}
			_, err := c.ec2Writer.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: g.InternetGatewayId})
			return err
		}})
	}
	subnets, err := c.subnets.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range subnets {
		all = append(all, found{kind: "subnet", id: aws.ToString(s.SubnetId), name: tagsOf(s.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: s.SubnetId})
			return err
		}})
	}
	addresses, err := c.addresses.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range addresses {
		all = append(all, found{kind: "address", id: aws.ToString(a.AllocationId), name: tagsOf(a.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: a.AllocationId})
			return err
		}})
	}
	nats, err := c.nats.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range nats {
		if n.State == types.NatGatewayStateDeleted {
			continue
		}
		id := natID(n)
		all = append(all, found{kind: "nat-gateway", id: id, name: tagsOf(n.Tags)[awsx.NameTag],
			delete: func(ctx context.Context) error {
				_, err := c.ec2Writer.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: aws.String(id)})
				return err
			},
			gone: func(ctx context.Context) (bool, error) {
				now, err := c.nats.Get(ctx, true)
				return !slices.ContainsFunc(now, func(n types.NatGateway) bool {
					return natID(n) == id && n.State != types.NatGatewayStateDeleted
				}), err
			},
		})
	}
	tables, err := c.tables.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range tables {
		all = append(all, found{kind: "route-table", id: tableID(t), name: tagsOf(t.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			return c.deleteTable(ctx, aws.ToString(t.VpcId), tableID(t))
		}})
	}
	endpoints, err := c.endpoints.Get(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range endpoints {
		if state := strings.ToLower(string(e.State)); state == "deleted" {
			continue
		}
		id := endpointID(e)
		all = append(all, found{kind: "endpoint", id: id, name: aws.ToString(e.ServiceName),
			delete: func(ctx context.Context) error {
				answer, err := c.ec2Writer.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
				if err != nil {
					return err
				}
				for _, u := range answer.Unsuccessful {
					if u.Error != nil && !strings.Contains(aws.ToString(u.Error.Code), "NotFound") {
						return fmt.Errorf("%s: %s", aws.ToString(u.Error.Code), aws.ToString(u.Error.Message))
					}
				}
				return nil
			},
			gone: func(ctx context.Context) (bool, error) {
				now, err := c.endpoints.Get(ctx, true)
				return !slices.ContainsFunc(now, func(e types.VpcEndpoint) bool {
					return endpointID(e) == id && strings.ToLower(string(e.State)) != "deleted"
				}), err
			},
		})
	}
	return all, nil, nil
}

// deleteTable deletes a route table. AWS does not delete the main one of a VPC: the table that was the main one at the start,
// which disappears with the VPC, becomes it again.
func (c *Cloud) deleteTable(ctx context.Context, vpc, id string) error {
	tables, err := c.routeTables(ctx, []types.Filter{filter("vpc-id", vpc)})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if tableID(t) != id {
			continue
		}
		for _, a := range t.Associations {
			switch {
			case aws.ToBool(a.Main):
				i := slices.IndexFunc(tables, func(t types.RouteTable) bool { return !c.owner.Owns(tagsOf(t.Tags)) })
				if i < 0 {
					return nil // it disappears with the VPC
				}
				// The association is replaced by another one if a call of an earlier command was carried out just now. That error is
				// not about the table: it would count as deleted.
				if _, err := c.makeMain(ctx, vpc, tableID(tables[i])); err != nil && !awsx.IsNotFound(err) {
					return err
				}
			case a.RouteTableAssociationId != nil:
				_, err := c.ec2Writer.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: a.RouteTableAssociationId})
				if err != nil && !awsx.IsNotFound(err) {
					return err
				}
			}
		}
	}
	_, err = c.ec2Writer.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: aws.String(id)})
	return err
}

func (c *Cloud) owned() []types.Filter { return []types.Filter{filter("tag:"+c.owner.Tag(), "owned")} }

func (c *Cloud) discoverInstances(ctx context.Context) (all []found, _ []Remaining, _ error) {
	filters := append(c.owned(), filter("instance-state-name", "pending", "running", "stopping", "stopped", "shutting-down"))
	for pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{Filters: filters}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing instances: %w", err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				id := aws.ToString(i.InstanceId)
				all = append(all, found{kind: "instance", id: id, name: tagsOf(i.Tags)[awsx.NameTag],
					delete: func(ctx context.Context) error {
						_, err := c.ec2Writer.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
						return err
					},
					gone: func(ctx context.Context) (bool, error) {
						now, err := c.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
						if awsx.IsNotFound(err) {
							return true, nil
						}
						if err != nil {
							return false, err
						}
						for _, r := range now.Reservations {
							for _, i := range r.Instances {
								if i.State != nil && i.State.Name != types.InstanceStateNameTerminated {
									return false, nil
								}
							}
						}
						return true, nil
					},
				})
			}
		}
	}
	return all, nil, nil
}

func (c *Cloud) discoverGroups(ctx context.Context) (all []found, _ []Remaining, _ error) {
	for pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{Filters: c.owned()}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing security groups: %w", err)
		}
		for _, g := range page.SecurityGroups {
			if aws.ToString(g.GroupName) == "default" {
				continue // it disappears with the VPC
			}
			all = append(all, found{kind: "security-group", id: aws.ToString(g.GroupId), name: aws.ToString(g.GroupName), delete: func(ctx context.Context) error {
				// Groups that name each other in their rules block each other.
				if len(g.IpPermissions) > 0 {
					_, err := c.ec2Writer.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: g.IpPermissions})
					if err != nil && !awsx.IsNotFound(err) {
						return err
					}
				}
				_, err := c.ec2Writer.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
				return err
			}})
		}
	}
	return all, nil, nil
}

// discoverVolumes lists volumes and snapshots. They may have the only copy of data, and do not block a deletion.
func (c *Cloud) discoverVolumes(ctx context.Context) (_ []found, rest []Remaining, _ error) {
	const reason = "left behind by the hosted cluster. It may have the only copy of data, so it is not deleted, and costs money until you delete it"
	for pages := ec2.NewDescribeVolumesPaginator(c.ec2, &ec2.DescribeVolumesInput{Filters: c.owned()}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing volumes: %w", err)
		}
		for _, v := range page.Volumes {
			if v.State == types.VolumeStateAvailable {
				rest = append(rest, Remaining{"Volume", aws.ToString(v.VolumeId), reason})
			}
		}
	}
	for pages := ec2.NewDescribeSnapshotsPaginator(c.ec2, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: c.owned()}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing snapshots: %w", err)
		}
		for _, s := range page.Snapshots {
			rest = append(rest, Remaining{"Snapshot", aws.ToString(s.SnapshotId), reason})
		}
	}
	return nil, rest, nil
}

// discoverInterfaces lists network interfaces that belong to nothing that is deleted. They block the deletion of their subnet.
func (c *Cloud) discoverInterfaces(ctx context.Context, vpcs []string) (_ []found, rest []Remaining, _ error) {
	for pages := ec2.NewDescribeNetworkInterfacesPaginator(c.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("vpc-id", vpcs...)}}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing network interfaces: %w", err)
		}
		for _, i := range page.NetworkInterfaces {
			// AWS manages those of NAT gateways, endpoints and load balancers, and deletes them after these.
			if i.InterfaceType != types.NetworkInterfaceTypeInterface || aws.ToBool(i.RequesterManaged) || i.Attachment != nil && i.Attachment.InstanceId != nil {
				continue
			}
			if c.owner.Owns(tagsOf(i.TagSet)) || strings.HasPrefix(aws.ToString(i.Description), "ELB ") {
				continue
			}
			rest = append(rest, Remaining{"Network interface", aws.ToString(i.NetworkInterfaceId),
				fmt.Sprintf("it is in subnet %s without the tag of the cluster (%q), and blocks its deletion", aws.ToString(i.SubnetId), aws.ToString(i.Description))})
		}
	}
	return nil, rest, nil
}

// discoverBalancers finds load balancers and target groups in the VPCs.
func (c *Cloud) discoverBalancers(ctx context.Context, vpcs []string) (all []found, rest []Remaining, _ error) {
	var balancers []elbv2types.LoadBalancer
	for pages := elbv2.NewDescribeLoadBalancersPaginator(c.elb, &elbv2.DescribeLoadBalancersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing load balancers: %w", err)
		}
		for _, b := range page.LoadBalancers {
			if slices.Contains(vpcs, aws.ToString(b.VpcId)) {
				balancers = append(balancers, b)
			}
		}
	}
	var groups []elbv2types.TargetGroup
	for pages := elbv2.NewDescribeTargetGroupsPaginator(c.elb, &elbv2.DescribeTargetGroupsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("listing target groups: %w", err)
		}
		for _, g := range page.TargetGroups {
			if slices.Contains(vpcs, aws.ToString(g.VpcId)) {
				groups = append(groups, g)
			}
		}
	}
	var arns []string
	for _, b := range balancers {
		arns = append(arns, aws.ToString(b.LoadBalancerArn))
	}
	for _, g := range groups {
		arns = append(arns, aws.ToString(g.TargetGroupArn))
	}
	owned := map[string]bool{}
	for some := range slices.Chunk(arns, 20) { // the most that DescribeTags accepts
		answer, err := c.elb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: some})
		if err != nil {
			return nil, nil, fmt.Errorf("reading the tags of load balancers: %w", err)
		}
		for _, d := range answer.TagDescriptions {
			tags := awsx.Tags{}
			for _, t := range d.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			owned[aws.ToString(d.ResourceArn)] = c.owner.Owns(tags)
		}
	}
	for _, b := range balancers {
		arn := aws.ToString(b.LoadBalancerArn)
		if !owned[arn] {
			rest = append(rest, Remaining{"Load balancer", aws.ToString(b.LoadBalancerName), "it is in the VPC without the tag of the cluster, and blocks the deletion of its subnets"})
			continue
		}
		all = append(all, found{kind: "load-balancer", id: arn, name: aws.ToString(b.LoadBalancerName), delete: func(ctx context.Context) error {
			_, err := c.elbWriter.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(arn)})
			return err
		}})
	}
	for _, g := range groups {
		if arn := aws.ToString(g.TargetGroupArn); owned[arn] {
			all = append(all, found{kind: "target-group", id: arn, name: aws.ToString(g.TargetGroupName), delete: func(ctx context.Context) error {
				_, err := c.elbWriter.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(arn)})
				return err
			}})
		}
	}
	return all, rest, nil
}

// discoverZones finds private zones of the VPCs, and zones with one of the names.
func (c *Cloud) discoverZones(ctx context.Context, vpcs, named []string) (all []found, _ []Remaining, _ error) {
	ids := map[string]bool{}
	for _, vpc := range vpcs {
		zones, err := c.zonesOfVPC(ctx, vpc)
		if err != nil {
			return nil, nil, err
		}
		for _, z := range zones {
			ids[zoneID(z.HostedZoneId)] = true
		}
	}
	for _, name := range named {
		zones, err := zonesNamed(ctx, c.dns, name)
		if err != nil {
			return nil, nil, err
		}
		for _, z := range zones {
			if z.Config != nil && z.Config.PrivateZone {
				ids[zoneID(z.Id)] = true
			}
		}
	}
	var rest []Remaining
	for id := range ids {
		zone, err := c.dns.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: aws.String(id)})
		if awsx.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading hosted zone %s: %w", id, err)
		}
		name := dnsName(aws.ToString(zone.HostedZone.Name))
		owned, err := c.ownsZone(ctx, zone.HostedZone)
		switch {
		case err != nil:
			return nil, nil, err
		case owned:
			all = append(all, found{kind: "hosted-zone", id: id, name: name, delete: func(ctx context.Context) error { return c.deleteZone(ctx, id) }})
		case slices.ContainsFunc(zone.VPCs, func(v route53types.VPC) bool { return slices.Contains(vpcs, aws.ToString(v.VPCId)) }):
			rest = append(rest, Remaining{"Private hosted zone", id, fmt.Sprintf("%s is associated with the VPC and does not carry the tag of the cluster", name)})
		}
	}
	return all, rest, nil
}

// deleteZone deletes a zone with its records.
func (c *Cloud) deleteZone(ctx context.Context, id string) error {
	var changes []route53types.Change
	for pages := route53.NewListResourceRecordSetsPaginator(c.dns, &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String(id)}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.ResourceRecordSets {
			if r.Type != route53types.RRTypeNs && r.Type != route53types.RRTypeSoa {
				changes = append(changes, route53types.Change{Action: route53types.ChangeActionDelete, ResourceRecordSet: &r})
			}
		}
	}
	for batch := range slices.Chunk(changes, 500) { // AWS accepts 1000 values in a batch
		_, err := c.dnsWriter.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
			HostedZoneId: aws.String(id), ChangeBatch: &route53types.ChangeBatch{Changes: batch},
		})
		if err != nil {
			return err
		}
	}
	_, err := c.dnsWriter.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: aws.String(id)})
	return err
}

// ErrRemaining is the error of a deletion after which resources with the ownership tag exist.
var ErrRemaining = errors.New("resources of the cluster are left")
