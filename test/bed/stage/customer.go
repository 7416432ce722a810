package stage

import (
	"context"
	"fmt"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Customer is an account that is ready for one hosted cluster, and the cluster's samples filled in for it.
type Customer struct {
	*awsemulator.Customer
	// Variables are what the files of config/samples ask for.
	Variables map[string]string
}

// NewCustomer prepares a customer's account for a hosted cluster of that name: a VPC with subnets in three zones, the private
// hosted zone, the OIDC provider and the roles. An empty account id means the one that the emulator has for a single customer.
func (s *Stage) NewCustomer(ctx context.Context, account, name, infraID string) (*Customer, error) {
	issuer := fmt.Sprintf("https://%s.s3.%s.amazonaws.com/%s", s.Management.Bucket, region, infraID)
	seeded, err := s.AWS.SeedCustomer(ctx, awsemulator.CustomerOptions{Account: account, Name: name, InfraID: infraID, Issuer: issuer})
	if err != nil {
		return nil, err
	}
	if err := s.permitCustomer(ctx, seeded); err != nil {
		return nil, err
	}
	return &Customer{Customer: seeded, Variables: map[string]string{
		"CUSTOMER_ACCOUNT": seeded.Account,
		"AWS_REGION":       region,
		"INFRA_ID":         infraID,
		"OIDC_BUCKET":      s.Management.Bucket,
		"RELEASE_IMAGE":    s.ReleaseImage,
		"VPC":              seeded.VPC,
		"ZONE_A":           seeded.Subnets[0].Zone,
		"SUBNET_A":         seeded.Subnets[0].ID,
		"SUBNET_B":         seeded.Subnets[1].ID,
		"SUBNET_C":         seeded.Subnets[2].ID,
	}}, nil
}
