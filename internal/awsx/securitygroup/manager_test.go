package securitygroup

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"
)

// refusing is EC2 for a role that may delete security groups with the cluster's tag only.
type refusing struct {
	API
	exists bool
}

func (r refusing) DeleteSecurityGroup(context.Context, *ec2.DeleteSecurityGroupInput, ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error) {
	return nil, &smithy.GenericAPIError{Code: "UnauthorizedOperation"}
}

func (r refusing) DescribeSecurityGroups(_ context.Context, in *ec2.DescribeSecurityGroupsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	if len(in.GroupIds) > 0 && !r.exists {
		return nil, &smithy.GenericAPIError{Code: "InvalidGroup.NotFound"}
	}
	return &ec2.DescribeSecurityGroupsOutput{}, nil
}

func TestADeniedDeletionOfAMissingResourceIsDone(t *testing.T) {
	for name, exists := range map[string]bool{"the group is gone": false, "the group is there and belongs to another": true} {
		t.Run(name, func(t *testing.T) {
			k := NewManager(refusing{exists: exists}, clocktesting.NewFakePassiveClock(time.Now()), "uid", "vpc-1")
			err := k.Delete(t.Context(), func(string) bool { return true }, "sg-1")
			if (err != nil) != exists {
				t.Errorf("error: %v", err)
			}
		})
	}
}
