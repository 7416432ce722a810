package endpoint

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"
)

// refusing is EC2 for a role that may delete endpoints with the cluster's tag only.
type refusing struct {
	API
	exists bool
}

func (r refusing) DeleteVpcEndpoints(context.Context, *ec2.DeleteVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DeleteVpcEndpointsOutput, error) {
	return nil, &smithy.GenericAPIError{Code: "UnauthorizedOperation"}
}

func (r refusing) DescribeVpcEndpoints(_ context.Context, in *ec2.DescribeVpcEndpointsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	if len(in.VpcEndpointIds) > 0 && !r.exists {
		return nil, &smithy.GenericAPIError{Code: "InvalidVpcEndpointId.NotFound"}
	}
	return &ec2.DescribeVpcEndpointsOutput{VpcEndpoints: []types.VpcEndpoint{}}, nil
}

func TestADeniedDeletionOfAMissingResourceIsDone(t *testing.T) {
	for name, exists := range map[string]bool{"the endpoint is gone": false, "the endpoint is there and belongs to another": true} {
		t.Run(name, func(t *testing.T) {
			k := NewManager(refusing{exists: exists}, clocktesting.NewFakePassiveClock(time.Now()), "uid", "vpc-1")
			_, err := k.Delete(t.Context(), "role", "vpce-1")
			if (err != nil) != exists {
				t.Errorf("error: %v", err)
			}
			if _, err := k.Delete(t.Context(), "role", "vpce-1"); (err != nil) != exists {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}
