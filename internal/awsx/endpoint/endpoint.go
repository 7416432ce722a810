package endpoint

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// Create creates an interface endpoint, or a gateway endpoint if the spec has route tables. A repeated call with the same token creates
// no second one.
func Create(ctx context.Context, api Writer, spec Spec, token string) (Endpoint, error) {
	kind := types.VpcEndpointTypeInterface
	if len(spec.RouteTables) > 0 {
		kind = types.VpcEndpointTypeGateway
	}
	out, err := api.CreateVpcEndpoint(ctx, &ec2.CreateVpcEndpointInput{
		ClientToken:       aws.String(token),
		VpcEndpointType:   kind,
		ServiceName:       &spec.ServiceName,
		VpcId:             &spec.VPC,
		SubnetIds:         spec.Subnets,
		SecurityGroupIds:  spec.Groups,
		RouteTableIds:     spec.RouteTables,
		TagSpecifications: ec2util.TagsOnCreate(types.ResourceTypeVpcEndpoint, spec.Tags),
	})
	if err != nil {
		return Endpoint{}, err
	}
	got := Read(*out.VpcEndpoint)
	got.Tags = spec.Tags // the answer may not have them
	return got, nil
}

// SetRouteTables gives a gateway endpoint these route tables.
func SetRouteTables(ctx context.Context, api Writer, got Endpoint, tables []string) error {
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(t string) bool { return slices.Contains(others, t) })
	}
	_, err := api.ModifyVpcEndpoint(ctx, &ec2.ModifyVpcEndpointInput{
		VpcEndpointId: &got.ID, AddRouteTableIds: without(tables, got.RouteTables), RemoveRouteTableIds: without(got.RouteTables, tables),
	})
	return err
}

// Delete starts to delete an endpoint. EC2 answers with success even if it refuses: the refusal is in the answer.
func Delete(ctx context.Context, api Writer, id string) error {
	out, err := api.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
	if err != nil {
		return err
	}
	return ec2util.Refusal("DeleteVpcEndpoints", out.Unsuccessful)
}
