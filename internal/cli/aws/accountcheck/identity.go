package accountcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
)

// Partition returns the partition of a region. The names of regions are of
// https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html.
func Partition(region string) string {
	for prefix, partition := range map[string]string{"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso", "us-isob-": "aws-iso-b", "eusc-": "aws-eusc"} {
		if strings.HasPrefix(region, prefix) {
			return partition
		}
	}
	return "aws"
}

// Skew returns by how much the clock of AWS is ahead of the clock of this machine, to a second.
func Skew(ctx context.Context, cfg aws.Config) (time.Duration, error) {
	answer, err := awsx.STS(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return 0, fmt.Errorf("reading the time of STS: %w", err)
	}
	skew, ok := awsmiddleware.GetAttemptSkew(answer.ResultMetadata)
	if !ok {
		return 0, errors.New("the answer of STS has no time")
	}
	return skew, nil
}

// SpotRole is the service-linked role without which EC2 starts no spot instance
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html). EC2 creates it for a caller that
// may do so, which Karpenter and Cluster API's provider may not.
const SpotRole = "AWSServiceRoleForEC2Spot"

// HasRole is true if the role exists in the account.
func HasRole(ctx context.Context, cfg aws.Config, name string) (bool, error) {
	_, err := iam.NewFromConfig(cfg).GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
	if awsx.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading role %s: %w", name, err)
	}
	return true, nil
}

// DryRuns returns the creating calls of EC2 that the caller may not make for a cluster. EC2 checks the permissions of a dry run, also
// the policies of organizations, and creates no resource. Calls that need the id of a VPC have no dry run before it exists.
func DryRuns(ctx context.Context, cfg aws.Config, owner awsgraph.Owner) (denied []string, _ error) {
	api, yes := awsx.EC2(cfg), aws.Bool(true)
	tags := func(kind types.ResourceType, suffix string) []types.TagSpecification {
		all := types.TagSpecification{ResourceType: kind}
		for key, value := range owner.All(owner.InfraID+suffix, nil) {
			all.Tags = append(all.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
		return []types.TagSpecification{all}
	}
	for _, call := range []struct {
		name string
		run  func() error
	}{
		{"CreateVpc", func() error {
			_, err := api.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), TagSpecifications: tags(types.ResourceTypeVpc, "-vpc"), DryRun: yes})
			return err
		}},
		{"CreateInternetGateway", func() error {
			_, err := api.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: tags(types.ResourceTypeInternetGateway, "-igw"), DryRun: yes})
			return err
		}},
		{"AllocateAddress", func() error {
			_, err := api.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc, TagSpecifications: tags(types.ResourceTypeElasticIp, "-eip"), DryRun: yes})
			return err
		}},
		{"CreateDhcpOptions", func() error {
			_, err := api.CreateDhcpOptions(ctx, &ec2.CreateDhcpOptionsInput{
				DhcpConfigurations: []types.NewDhcpConfiguration{{Key: aws.String("domain-name-servers"), Values: []string{"AmazonProvidedDNS"}}},
				TagSpecifications:  tags(types.ResourceTypeDhcpOptions, "-dhcp"), DryRun: yes,
			})
			return err
		}},
	} {
		err := call.run()
		var answer smithy.APIError
		switch {
		case errors.As(err, &answer) && answer.ErrorCode() == "DryRunOperation":
		case awsx.IsDenied(err):
			denied = append(denied, "ec2:"+call.name)
		case err == nil:
			return denied, fmt.Errorf("the dry run of %s had no answer about permissions", call.name)
		default:
			return denied, fmt.Errorf("the dry run of %s: %w", call.name, err)
		}
	}
	return denied, nil
}
