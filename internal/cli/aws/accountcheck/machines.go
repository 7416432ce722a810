package accountcheck

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// Offered returns the names of the zones in which EC2 offers an instance type.
func Offered(ctx context.Context, cfg aws.Config, instanceType string) (names []string, _ error) {
	in := &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{{Name: aws.String("instance-type"), Values: []string{instanceType}}},
	}
	for pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(awsx.EC2(cfg), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the zones of instance type %s: %w", instanceType, err)
		}
		for _, o := range page.InstanceTypeOfferings {
			names = append(names, aws.ToString(o.Location))
		}
	}
	return names, nil
}

// CPUs returns the number of vCPUs of an instance type, or 0 if the region does not have it.
func CPUs(ctx context.Context, cfg aws.Config, instanceType string) (int, error) {
	in := &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{instanceType}}}}
	for pages := ec2.NewDescribeInstanceTypesPaginator(awsx.EC2(cfg), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, fmt.Errorf("describing instance type %s: %w", instanceType, err)
		}
		for _, t := range page.InstanceTypes {
			if t.VCpuInfo != nil {
				return int(aws.ToInt32(t.VCpuInfo.DefaultVCpus)), nil
			}
		}
	}
	return 0, nil
}

// IsStandard is true for the instance types that the quota of standard on-demand instances is for.
func IsStandard(instanceType string) bool { return standard.MatchString(instanceType) }

// Image contains the properties of a machine image that are checked.
type Image struct {
	// State is available for an image that can be used. Architecture is x86_64 or arm64.
	State, Architecture string
	// RootDevice is the name of the root device, and Volume is true if it is a volume of EBS.
	RootDevice string
	Volume     bool
}

// FindImage returns the machine image that the account can use in the region, or nil.
func FindImage(ctx context.Context, cfg aws.Config, id string) (*Image, error) {
	// An image that does not exist is an empty list for a filter. As a parameter it is an error.
	in := &ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("image-id"), Values: []string{id}}}}
	for pages := ec2.NewDescribeImagesPaginator(awsx.EC2(cfg), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading machine image %s: %w", id, err)
		}
		for _, i := range page.Images {
			return &Image{State: string(i.State), Architecture: string(i.Architecture), RootDevice: aws.ToString(i.RootDeviceName), Volume: i.RootDeviceType == types.DeviceTypeEbs}, nil
		}
	}
	return nil, nil
}
