package bed

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// openToInternet makes the public subnets public in the eyes of the cloud-controller-manager: it believes routes, not tags.
func openToInternet(ctx context.Context, emulator *awsemulator.Emulator, account *awsemulator.Management) error {
	client := ec2.NewFromConfig(emulator.Config(account.Account))
	return emulator.Given(ctx, account.Account, func() error {
		gateway, err := client.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
		if err != nil {
			return fmt.Errorf("making an internet gateway: %w", err)
		}
		id := gateway.InternetGateway.InternetGatewayId
		if _, err := client.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: &account.VPC}); err != nil {
			return fmt.Errorf("attaching internet gateway %s: %w", *id, err)
		}
		table, err := client.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &account.VPC})
		if err != nil {
			return fmt.Errorf("making a route table: %w", err)
		}
		_, err = client.CreateRoute(ctx, &ec2.CreateRouteInput{
			RouteTableId: table.RouteTable.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: id,
		})
		if err != nil {
			return fmt.Errorf("making a route to internet gateway %s: %w", *id, err)
		}
		for _, subnet := range account.Public {
			if _, err := client.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table.RouteTable.RouteTableId, SubnetId: &subnet.ID}); err != nil {
				return fmt.Errorf("opening subnet %s to the internet: %w", subnet.ID, err)
			}
		}
		return nil
	})
}
