package endpoint

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// refusingInAnswer is EC2 that answers a deletion with success, and refuses it in the answer.
type refusingInAnswer struct {
	API
	code string
}

func (r refusingInAnswer) DeleteVpcEndpoints(_ context.Context, in *ec2.DeleteVpcEndpointsInput, _ ...func(*ec2.Options)) (*ec2.DeleteVpcEndpointsOutput, error) {
	return &ec2.DeleteVpcEndpointsOutput{Unsuccessful: []types.UnsuccessfulItem{
		{ResourceId: &in.VpcEndpointIds[0], Error: &types.UnsuccessfulItemError{Code: &r.code, Message: aws.String("does not exist")}},
	}}, nil
}

func TestADeletionThatMissesAnotherResourceHasFailed(t *testing.T) {
	for code, done := range map[string]bool{"InvalidVpcEndpoint.NotFound": true, "InvalidVpcEndpointId.NotFound": true, "InvalidRoute.NotFound": false} {
		m := NewManager(refusingInAnswer{code: code}, clocktesting.NewFakePassiveClock(time.Unix(1, 0)), "uid", "vpc-1")
		if err := m.delete(t.Context(), Endpoint{ID: "vpce-1"}); (err == nil) != done {
			t.Errorf("%s: error %v, want a complete deletion: %v", code, err, done)
		}
	}
}
