package bastion

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestWayOfASubnetToTheInternet(t *testing.T) {
	table := func(subnet string, main bool, routes ...types.Route) types.RouteTable {
		a := types.RouteTableAssociation{Main: aws.Bool(main)}
		if subnet != "" {
			a.SubnetId = aws.String(subnet)
		}
		return types.RouteTable{Associations: []types.RouteTableAssociation{a}, Routes: routes}
	}
	nat := types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: aws.String("nat-1")}
	internet := types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: aws.String("igw-1")}
	transit := types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), TransitGatewayId: aws.String("tgw-1")}
	local := types.Route{DestinationCidrBlock: aws.String("10.0.0.0/16"), GatewayId: aws.String("local")}
	gone := types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: aws.String("nat-2"), State: types.RouteStateBlackhole}
	for name, c := range map[string]struct {
		tables []types.RouteTable
		target string
		known  bool
	}{
		"a table of its own precedes the main one": {[]types.RouteTable{table("subnet-1", false, local, nat), table("", true, internet)}, "nat-1", true},
		"a subnet without a table uses the main":   {[]types.RouteTable{table("subnet-2", false, nat), table("", true, local, internet)}, "igw-1", true},
		"a transit gateway is a way":               {[]types.RouteTable{table("subnet-1", false, transit)}, "tgw-1", true},
		"a route to what was deleted is none":      {[]types.RouteTable{table("subnet-1", false, gone)}, "", true},
		"a table without a default route":          {[]types.RouteTable{table("subnet-1", false, local)}, "", true},
		"tables of another account are not known":  {nil, "", false},
	} {
		got, known := tableOf(c.tables, "subnet-1")
		if target := defaultRoute(got); known != c.known || target != c.target {
			t.Errorf("%s: %q, known %v", name, target, known)
		}
	}
}
