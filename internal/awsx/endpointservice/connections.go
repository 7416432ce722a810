package endpointservice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// A Connection is a VPC endpoint that is connected to a service, or is about to be.
type Connection struct {
	// Endpoint is the id of the VPC endpoint, and Account the id of the account that owns it, as AWS knows it.
	Endpoint, Account string
}

// Connections returns the connections of the owner's services, past the cache.
func (s *Services) Connections(ctx context.Context, owner Owner) ([]Connection, error) {
	mine, err := s.cached(ctx, owner)
	if err != nil {
		return nil, err
	}
	var all []Connection
	for _, svc := range mine {
		connections, err := s.connections(ctx, svc.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, connections...)
	}
	return all, nil
}

// Reject disconnects endpoints from the owner's services. Endpoints that are not connected are no error.
func (s *Services) Reject(ctx context.Context, owner Owner, endpoints []string) error {
	mine, err := s.cached(ctx, owner)
	if err != nil || len(endpoints) == 0 {
		return err
	}
	for _, svc := range mine {
		connections, err := s.connections(ctx, svc.ID)
		if err != nil {
			return err
		}
		connections = slices.DeleteFunc(connections, func(c Connection) bool { return !slices.Contains(endpoints, c.Endpoint) })
		if err := s.reject(ctx, svc.ID, connections); err != nil {
			return err
		}
	}
	return nil
}

// connections reads the connections of a service, sorted.
func (s *Services) connections(ctx context.Context, id string) ([]Connection, error) {
	var live []Connection
	pages := ec2.NewDescribeVpcEndpointConnectionsPaginator(s.api, &ec2.DescribeVpcEndpointConnectionsInput{
		Filters: []types.Filter{{Name: aws.String("service-id"), Values: []string{id}}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading connections of endpoint service %s: %w", id, err)
		}
		for _, c := range page.VpcEndpointConnections {
			if aws.ToString(c.ServiceId) == id && connected(c.VpcEndpointState) {
				live = append(live, Connection{aws.ToString(c.VpcEndpointId), aws.ToString(c.VpcEndpointOwner)})
			}
		}
	}
	slices.SortFunc(live, func(a, b Connection) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return live, nil
}

func (s *Services) reject(ctx context.Context, id string, connections []Connection) error {
	if len(connections) == 0 {
		return nil
	}
	endpoints := ids(connections)
	ctrl.LoggerFrom(ctx).Info("Rejecting connections of endpoint service", "service", id, "endpoints", endpoints)
	out, err := s.api.RejectVpcEndpointConnections(ctx, &ec2.RejectVpcEndpointConnectionsInput{ServiceId: aws.String(id), VpcEndpointIds: endpoints})
	if err != nil {
		return fmt.Errorf("rejecting connections of endpoint service %s: %w", id, err)
	}
	for _, u := range out.Unsuccessful {
		// The connection has just ended or is about to: the next deletion shows it.
		if err := ec2util.Refusal("RejectVpcEndpointConnections", []types.UnsuccessfulItem{u}); !awsx.IsNotFound(err) && awsx.Code(err) != "InvalidState" {
			return fmt.Errorf("rejecting connection of %s to endpoint service %s: %w", aws.ToString(u.ResourceId), id, err)
		}
	}
	return nil
}

func ids(connections []Connection) (endpoints []string) {
	for _, c := range connections {
		endpoints = append(endpoints, c.Endpoint)
	}
	return endpoints
}

// connected is true for a state in which an endpoint prevents the deletion of its
// service. The API writes states in lower case and the SDK's constants do not.
func connected(state types.State) bool {
	switch strings.ToLower(string(state)) {
	case "pendingacceptance", "pending", "available":
		return true
	}
	return false
}
