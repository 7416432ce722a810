// Package accounts makes AWS accounts ready for hypershift: that of the management cluster, and those of customers. The roles in
// them have the policies that we ship, and no others, so that a story fails if those lack something.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Region is where everything is.
const Region = "us-east-1"

// Customer is an account that is ready for one hosted cluster, and the cluster's samples filled in for it.
type Customer struct {
	*awsemulator.Customer
	// Variables are what the files of config/samples ask for.
	Variables map[string]string
}

// NewCustomer prepares a customer's account for a hosted cluster of that name, which is to run a release and to publish its
// issuer in a bucket: a VPC with subnets in three zones, the private hosted zone, the OIDC provider and the roles. An empty
// account id means the one that the emulator has for a single customer.
func NewCustomer(ctx context.Context, aws *awsemulator.Emulator, bucket, release, account, name, infraID string) (*Customer, error) {
	issuer := fmt.Sprintf("https://%s.s3.%s.amazonaws.com/%s", bucket, Region, infraID)
	seeded, err := aws.SeedCustomer(ctx, awsemulator.CustomerOptions{Account: account, Name: name, InfraID: infraID, Issuer: issuer})
	if err != nil {
		return nil, err
	}
	variables := map[string]string{
		"CUSTOMER_ACCOUNT": seeded.Account,
		"AWS_REGION":       Region,
		"INFRA_ID":         infraID,
		"OIDC_BUCKET":      bucket,
		"RELEASE_IMAGE":    release,
		"VPC":              seeded.VPC,
		"LOCAL_ZONE_ID":    seeded.LocalZoneID,
		"ZONE_A":           seeded.Subnets[0].Zone,
		"SUBNET_A":         seeded.Subnets[0].ID,
		"SUBNET_B":         seeded.Subnets[1].ID,
		"SUBNET_C":         seeded.Subnets[2].ID,
	}
	for role, file := range map[string]string{
		seeded.Role: iam.ControlPlaneOperator, seeded.NodePoolRole: iam.NodePoolManagement, seeded.CloudControllerRole: iam.CloudController,
	} {
		if err := permit(ctx, aws, seeded.Account, role, file, variables); err != nil {
			return nil, err
		}
	}
	return &Customer{Customer: seeded, Variables: variables}, nil
}

// OperatorRole makes the role as which the hypershift-operator acts in the account of the management cluster, if there is none.
// It may write to that bucket.
func OperatorRole(ctx context.Context, aws *awsemulator.Emulator, account, bucket string) (role string, err error) {
	err = aws.Given(ctx, account, func() error {
		role, err = aws.Role(ctx, account, operator, awsemulator.TrustRole("arn:aws:iam::"+account+":root"))
		return err
	})
	var there *types.EntityAlreadyExistsException
	if errors.As(err, &there) {
		role, err = "arn:aws:iam::"+account+":role/"+operator, nil
	}
	if err != nil {
		return "", err
	}
	return role, permit(ctx, aws, account, role, iam.HypershiftOperator, map[string]string{"OIDC_BUCKET": bucket})
}

const operator = "hypershift-operator"

// permit gives a role a policy that we ship.
func permit(ctx context.Context, aws *awsemulator.Emulator, account, role, file string, variables map[string]string) error {
	policy, err := iam.Fill(file, variables)
	if err != nil {
		return err
	}
	return aws.Permit(ctx, account, path.Base(role), policy)
}
