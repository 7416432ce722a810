package securitygroup

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// inUse is an account in which a group is used in every way, seen in two pages.
type inUse struct{ API }

func (inUse) DescribeNetworkInterfaces(_ context.Context, in *ec2.DescribeNetworkInterfacesInput, _ ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error) {
	if in.NextToken == nil {
		return &ec2.DescribeNetworkInterfacesOutput{NextToken: aws.String("more"), NetworkInterfaces: []types.NetworkInterface{
			{NetworkInterfaceId: aws.String("eni-2"), Description: aws.String("ELB net/a0123")},
		}}, nil
	}
	return &ec2.DescribeNetworkInterfacesOutput{NetworkInterfaces: []types.NetworkInterface{{NetworkInterfaceId: aws.String("eni-1")}}}, nil
}

func (inUse) DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: []types.SecurityGroup{
		{GroupId: aws.String("sg-1"), GroupName: aws.String("it lets itself in")}, {GroupId: aws.String("sg-2"), GroupName: aws.String("database")},
	}}, nil
}

func TestUsers(t *testing.T) {
	got, err := NewManager(inUse{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), "owner", "vpc-1").Users(t.Context(), "sg-1")
	want := []string{`a rule of security group sg-2 "database"`, "network interface eni-1", `network interface eni-2 "ELB net/a0123"`}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
}
