package infra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

const (
	publicTable = "public-table"
	everywhere  = "0.0.0.0/0"
)

func natGateway(zone string) string { return "nat-gateway/" + zone }

func (b builder) address(zone string) *rg.Node {
	name := b.InfraID + "-eip-" + zone
	tags := b.owner.All(name, nil)
	return &rg.Node{
		ID: "address/" + zone, Kind: "Elastic IP address", ReadsAlone: true, Name: name, Parent: natGateway(zone),
		Desired: func(rg.IDs) rg.Attributes { return awsgraph.WithTags(nil, tags) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := b.addresses.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			a, ok := awsgraph.Pick(all, l.ID, func(a types.Address) string { return aws.ToString(a.AllocationId) }, func(a types.Address) bool { return named(a.Tags, name) })
			if !ok {
				return rg.Observed{}, nil
			}
			return rg.Observed{ID: aws.ToString(a.AllocationId), Attributes: awsgraph.WithTags(nil, ec2util.Tags(a.Tags))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc, TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeElasticIp, tags)})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(created.AllocationId)}, nil
		},
		Update: b.updateTags,
	}
}

func (b builder) natGateway(zone string) *rg.Node {
	name := b.InfraID + "-nat-" + zone
	tags := b.owner.All(name, nil)
	return &rg.Node{
		ID: natGateway(zone), Kind: "NAT gateway", ReadsAlone: true, Name: name, Repeatable: true,
		// Without an attached internet gateway, AWS creates a NAT gateway that fails.
		DependsOn: []string{publicSubnet(zone), "address/" + zone, "attachment"},
		Desired: func(ids rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"subnet": ids(publicSubnet(zone)), "address": ids("address/" + zone)}, tags)
		},
		Immutable: []string{"subnet", "address"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := b.nats.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			n, ok := awsgraph.Pick(all, l.ID, natID, func(n types.NatGateway) bool { return named(n.Tags, name) && lives(n) })
			if ok {
				return observedNAT(n), nil
			}
			// AWS lists a failed gateway for an hour. The run that created it reports the reason; the next run creates another.
			failed, ok := awsgraph.Pick(all, l.ID, natID, func(n types.NatGateway) bool {
				return l.Fresh && natID(n) == l.ID && n.State == types.NatGatewayStateFailed
			})
			if ok {
				return rg.Observed{}, fmt.Errorf("NAT gateway %s has failed: %s: %s", natID(failed), aws.ToString(failed.FailureCode), aws.ToString(failed.FailureMessage))
			}
			return rg.Observed{}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{
				SubnetId: aws.String(c.IDs(publicSubnet(zone))), AllocationId: aws.String(c.IDs("address/" + zone)),
				ClientToken: aws.String(c.Token), TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeNatgateway, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return observedNAT(*created.NatGateway), nil
		},
		Update: b.updateTags,
	}
}

func natID(n types.NatGateway) string { return aws.ToString(n.NatGatewayId) }

func lives(n types.NatGateway) bool {
	return n.State == types.NatGatewayStatePending || n.State == types.NatGatewayStateAvailable
}

func observedNAT(n types.NatGateway) rg.Observed {
	o := rg.Observed{ID: natID(n)}
	attributes := rg.Attributes{"subnet": aws.ToString(n.SubnetId)}
	for _, a := range n.NatGatewayAddresses {
		if a.IsPrimary == nil || *a.IsPrimary {
			attributes["address"] = aws.ToString(a.AllocationId)
		}
	}
	o.Attributes = awsgraph.WithTags(attributes, ec2util.Tags(n.Tags))
	if n.State == types.NatGatewayStatePending {
		o.Pending = "state pending"
	}
	return o
}

func (b builder) table(id, name string) *rg.Node {
	tags := b.owner.All(name, nil)
	return &rg.Node{
		ID: id, Kind: "Route table", ReadsAlone: true, Name: name, DependsOn: []string{VPC}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"vpc": ids(VPC)}, tags)
		},
		Immutable: []string{"vpc"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			all, err := b.tables.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			t, ok := awsgraph.Pick(all, l.ID, tableID, func(t types.RouteTable) bool { return named(t.Tags, name) })
			if !ok {
				return rg.Observed{}, nil
			}
			return rg.Observed{ID: tableID(t), Attributes: awsgraph.WithTags(rg.Attributes{"vpc": aws.ToString(t.VpcId)}, ec2util.Tags(t.Tags))}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{
				VpcId: aws.String(c.IDs(VPC)), ClientToken: aws.String(c.Token), TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeRouteTable, tags),
			})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: tableID(*created.RouteTable)}, nil
		},
		Update: b.updateTags,
	}
}

func tableID(t types.RouteTable) string { return aws.ToString(t.RouteTableId) }

func (c *Cloud) tableWithID(ctx context.Context, id string, fresh bool) (types.RouteTable, bool, error) {
	if id == "" {
		return types.RouteTable{}, false, nil
	}
	all, err := c.tables.Get(ctx, fresh)
	if err != nil {
		return types.RouteTable{}, false, err
	}
	i := slices.IndexFunc(all, func(t types.RouteTable) bool { return tableID(t) == id })
	if i < 0 {
		return types.RouteTable{}, false, nil
	}
	return all[i], true, nil
}

// route is the default route of a table, to the NAT gateway or the internet gateway with the node id target.
func (b builder) route(table, id, target string, internet bool) *rg.Node {
	return &rg.Node{
		ID: id, Kind: "Route", Name: everywhere, DependsOn: []string{table, target}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes { return rg.Attributes{"target": ids(target)} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			t, ok, err := b.tableWithID(ctx, l.IDs(table), l.Fresh)
			if err != nil || !ok {
				return rg.Observed{}, err
			}
			for _, r := range t.Routes {
				if aws.ToString(r.DestinationCidrBlock) == everywhere {
					target := aws.ToString(r.NatGatewayId) + aws.ToString(r.GatewayId) + aws.ToString(r.InstanceId) + aws.ToString(r.TransitGatewayId) + aws.ToString(r.VpcPeeringConnectionId)
					return rg.Observed{ID: tableID(t), Attributes: rg.Attributes{"target": target}}, nil
				}
			}
			return rg.Observed{}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			in := &ec2.CreateRouteInput{RouteTableId: aws.String(c.IDs(table)), DestinationCidrBlock: aws.String(everywhere)}
			if internet {
				in.GatewayId = aws.String(c.IDs(target))
			} else {
				in.NatGatewayId = aws.String(c.IDs(target))
			}
			_, err := b.ec2Writer.CreateRoute(ctx, in)
			return rg.Observed{ID: c.IDs(table)}, err
		},
		Update: func(ctx context.Context, u rg.Update) error {
			in := &ec2.ReplaceRouteInput{RouteTableId: aws.String(u.Observed.ID), DestinationCidrBlock: aws.String(everywhere)}
			if internet {
				in.GatewayId = aws.String(u.IDs(target))
			} else {
				in.NatGatewayId = aws.String(u.IDs(target))
			}
			_, err := b.ec2Writer.ReplaceRoute(ctx, in)
			return err
		},
	}
}

// association of a subnet with a route table.
func (b builder) association(table, id, subnet string) *rg.Node {
	return &rg.Node{
		ID: id, Kind: "Association with", Name: strings.ReplaceAll(subnet, "/", " "), DependsOn: []string{table, subnet}, Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes { return rg.Attributes{"table": ids(table)} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(subnet) == "" {
				return rg.Observed{}, nil
			}
			all, err := b.tables.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			for _, t := range all {
				for _, a := range t.Associations {
					if aws.ToString(a.SubnetId) == l.IDs(subnet) {
						return rg.Observed{ID: aws.ToString(a.RouteTableAssociationId), Attributes: rg.Attributes{"table": tableID(t)}}, nil
					}
				}
			}
			return rg.Observed{}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := b.ec2Writer.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: aws.String(c.IDs(table)), SubnetId: aws.String(c.IDs(subnet))})
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: aws.ToString(created.AssociationId)}, nil
		},
		Update: func(ctx context.Context, u rg.Update) error {
			_, err := b.ec2Writer.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{AssociationId: aws.String(u.Observed.ID), RouteTableId: aws.String(u.IDs(table))})
			return err
		},
	}
}

// mainTable makes the public route table the main one of the VPC.
func (b builder) mainTable() *rg.Node {
	return &rg.Node{
		ID: "main-table", Kind: "Main route table of the VPC", DependsOn: []string{publicTable}, Repeatable: true,
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			t, _, err := b.tableWithID(ctx, l.IDs(publicTable), l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: mainAssociation(t)}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			return b.makeMain(ctx, c.IDs(VPC), c.IDs(publicTable))
		},
	}
}

func mainAssociation(t types.RouteTable) string {
	for _, a := range t.Associations {
		if aws.ToBool(a.Main) {
			return aws.ToString(a.RouteTableAssociationId)
		}
	}
	return ""
}

// makeMain replaces the main route table of a VPC.
func (c *Cloud) makeMain(ctx context.Context, vpc, table string) (rg.Observed, error) {
	mains, err := c.routeTables(ctx, []types.Filter{filter("vpc-id", vpc), filter("association.main", "true")})
	if err != nil {
		return rg.Observed{}, err
	}
	if len(mains) == 0 {
		return rg.Observed{}, &awsgraph.NotListedError{What: "the main route table of the VPC"}
	}
	if tableID(mains[0]) == table {
		return rg.Observed{ID: mainAssociation(mains[0])}, nil
	}
	created, err := c.ec2Writer.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{
		AssociationId: aws.String(mainAssociation(mains[0])), RouteTableId: aws.String(table),
	})
	if err != nil {
		return rg.Observed{}, err
	}
	return rg.Observed{ID: aws.ToString(created.NewAssociationId)}, nil
}

func (b builder) s3Endpoint() *rg.Node {
	service := "com.amazonaws." + b.Region + ".s3"
	tags := b.owner.All("", nil)
	tables := []string{publicTable}
	if !b.PublicOnly {
		for _, zone := range b.Zones {
			tables = append(tables, "private-table/"+zone)
		}
	}
	all := func(ids rg.IDs) []string {
		var found []string
		for _, t := range tables {
			if id := ids(t); id != "" {
				found = append(found, id)
			}
		}
		slices.Sort(found)
		return found
	}
	return &rg.Node{
		ID: "s3-endpoint", Kind: "Gateway endpoint", ReadsAlone: true, Name: service, DependsOn: append([]string{VPC}, tables...), Repeatable: true,
		Desired: func(ids rg.IDs) rg.Attributes {
			return awsgraph.WithTags(rg.Attributes{"vpc": ids(VPC), routeTables: strings.Join(all(ids), ",")}, tags)
		},
		Immutable: []string{"vpc"},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			list, err := b.endpoints.Get(ctx, l.Fresh)
			if err != nil {
				return rg.Observed{}, err
			}
			e, ok := awsgraph.Pick(list, l.ID, endpointID, func(e endpoint.Endpoint) bool { return e.ServiceName == service && !e.State.Leaving() })
			if !ok {
				return rg.Observed{}, nil
			}
			return rg.Observed{ID: e.ID, Attributes: awsgraph.WithTags(rg.Attributes{"vpc": e.VPC, routeTables: strings.Join(e.RouteTables, ",")}, e.Tags)}, nil
		},
		Create: func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
			created, err := endpoint.Create(ctx, b.ec2Writer, endpoint.Spec{VPC: c.IDs(VPC), ServiceName: service, RouteTables: all(c.IDs), Tags: tags}, c.Token)
			return rg.Observed{ID: created.ID}, err
		},
		Update: func(ctx context.Context, u rg.Update) error {
			if awsgraph.Changed(u.Changes, routeTables) {
				got := endpoint.Endpoint{ID: u.Observed.ID}
				if current := u.Observed.Attributes[routeTables]; current != "" {
					got.RouteTables = strings.Split(current, ",")
				}
				if err := endpoint.SetRouteTables(ctx, b.ec2Writer, got, all(u.IDs)); err != nil {
					return err
				}
			}
			return b.updateTags(ctx, u)
		},
	}
}

// routeTables is the attribute with the route tables of a gateway endpoint.
const routeTables = "route-tables"

func endpointID(e endpoint.Endpoint) string { return e.ID }
