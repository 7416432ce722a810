// Package v20170312 replaces the client of Tencent Cloud, which the module proxy does not serve. flannel compiles all its
// backends, and the pod network of a release uses VXLAN only: this package has the types and no client.
package v20170312

import "errors"

var errNoClient = errors.New("this build of flannel has no client of Tencent Cloud")

type (
	Client struct{}

	Filter struct {
		Name   *string
		Values []*string
	}
	Route struct {
		RouteId              *uint64
		DestinationCidrBlock *string
		GatewayType          *string
		GatewayId            *string
		RouteType            *string
		Enabled              *bool
	}
	RouteTable struct {
		RouteTableId *string
		RouteSet     []*Route
	}

	RoutesRequest struct {
		RouteTableId *string
		Routes       []*Route
	}
	DescribeRouteTablesRequest  struct{ Filters []*Filter }
	DescribeRouteTablesResponse struct{ Response *RouteTables }
	RouteTables                 struct{ RouteTableSet []*RouteTable }
)

func NewClientWithSecretId(string, string, string) (*Client, error) { return nil, errNoClient }

func NewDescribeRouteTablesRequest() *DescribeRouteTablesRequest {
	return &DescribeRouteTablesRequest{}
}
func NewCreateRoutesRequest() *RoutesRequest { return &RoutesRequest{} }
func NewDeleteRoutesRequest() *RoutesRequest { return &RoutesRequest{} }

func (*Client) DescribeRouteTables(*DescribeRouteTablesRequest) (*DescribeRouteTablesResponse, error) {
	return nil, errNoClient
}
func (*Client) CreateRoutes(*RoutesRequest) (*RouteTables, error) { return nil, errNoClient }
func (*Client) DeleteRoutes(*RoutesRequest) (*RouteTables, error) { return nil, errNoClient }
