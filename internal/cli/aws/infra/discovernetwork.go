package infra

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
)

// discoverNetwork finds the network resources with the tag of the cluster.
func (c *Cloud) discoverNetwork(ctx context.Context) (all []found, _ []Remaining, _ error) {
	for _, discover := range []func(context.Context) ([]found, error){
		c.discoverVPCs, c.discoverDHCPOptions, c.discoverGateways, c.discoverSubnets,
		c.discoverAddresses, c.discoverNATGateways, c.discoverRouteTables, c.discoverEndpoints,
	} {
		some, err := discover(ctx)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, some...)
	}
	return all, nil, nil
}

func (c *Cloud) discoverVPCs(ctx context.Context) (all []found, _ error) {
	vpcs, err := c.vpcs.Get(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, v := range vpcs {
		id := aws.ToString(v.VpcId)
		all = append(all, found{kind: "vpc", id: id, name: ec2util.Tags(v.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String(id)})
			return err
		}})
	}
	return all, nil
}

func (c *Cloud) discoverDHCPOptions(ctx context.Context) (all []found, _ error) {
	options, err := c.dhcp.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, d := range options {
		id := aws.ToString(d.DhcpOptionsId)
		all = append(all, found{kind: "dhcp-options", id: id, delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.DeleteDhcpOptions(ctx, &ec2.DeleteDhcpOptionsInput{DhcpOptionsId: aws.String(id)})
			return err
		}})
	}
	return all, nil
}

func (c *Cloud) discoverGateways(ctx context.Context) (all []found, _ error) {
	gateways, err := c.gateways.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, g := range gateways {
		all = append(all, found{kind: "internet-gateway", id: aws.ToString(g.InternetGatewayId), name: ec2util.Tags(g.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
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
	return all, nil
}

func (c *Cloud) discoverSubnets(ctx context.Context) (all []found, _ error) {
	subnets, err := c.ownSubnets(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range subnets {
		all = append(all, found{kind: "subnet", id: aws.ToString(s.SubnetId), name: ec2util.Tags(s.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: s.SubnetId})
			return err
		}})
	}
	return all, nil
}

func (c *Cloud) discoverAddresses(ctx context.Context) (all []found, _ error) {
	addresses, err := c.addresses.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		all = append(all, found{kind: "address", id: aws.ToString(a.AllocationId), name: ec2util.Tags(a.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			_, err := c.ec2Writer.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: a.AllocationId})
			return err
		}})
	}
	return all, nil
}

func (c *Cloud) discoverNATGateways(ctx context.Context) (all []found, _ error) {
	nats, err := c.nats.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, n := range nats {
		if n.State == types.NatGatewayStateDeleted {
			continue
		}
		id := natID(n)
		all = append(all, found{kind: "nat-gateway", id: id, name: ec2util.Tags(n.Tags)[awsx.NameTag],
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
	return all, nil
}

func (c *Cloud) discoverRouteTables(ctx context.Context) (all []found, _ error) {
	tables, err := c.tables.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		all = append(all, found{kind: "route-table", id: tableID(t), name: ec2util.Tags(t.Tags)[awsx.NameTag], delete: func(ctx context.Context) error {
			return c.deleteTable(ctx, aws.ToString(t.VpcId), tableID(t))
		}})
	}
	return all, nil
}

func (c *Cloud) discoverEndpoints(ctx context.Context) (all []found, _ error) {
	endpoints, err := c.endpoints.Get(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		if e.State == endpoint.Deleted {
			continue
		}
		all = append(all, found{kind: "endpoint", id: e.ID, name: e.ServiceName,
			delete: func(ctx context.Context) error { return endpoint.Delete(ctx, c.ec2Writer, e.ID) },
			gone: func(ctx context.Context) (bool, error) {
				now, err := c.endpoints.Get(ctx, true)
				return !slices.ContainsFunc(now, func(other endpoint.Endpoint) bool { return other.ID == e.ID && other.State != endpoint.Deleted }), err
			},
		})
	}
	return all, nil
}

// ownSubnets returns the subnets with the tag, without those that another account shares with this one.
func (c *Cloud) ownSubnets(ctx context.Context) ([]types.Subnet, error) {
	subnets, err := c.subnets.Get(ctx, true)
	if err != nil || len(subnets) == 0 {
		return nil, err
	}
	caller, err := c.caller(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(subnets), func(s types.Subnet) bool { return aws.ToString(s.OwnerId) != caller.Account }), nil
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
				i := slices.IndexFunc(tables, func(t types.RouteTable) bool { return !c.owner.Owns(ec2util.Tags(t.Tags)) })
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
