package subnet

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// everySubnet is an account that contains each requested subnet.
type everySubnet struct{}

func (everySubnet) DescribeSubnets(_ context.Context, in *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	out := &ec2.DescribeSubnetsOutput{}
	for _, id := range in.Filters[0].Values {
		out.Subnets = append(out.Subnets, types.Subnet{SubnetId: &id})
	}
	return out, nil
}

// Users write the subnets of NodePools, and may write others all the time.
func TestSubnetsThatUsersWriteDoNotFillTheCache(t *testing.T) {
	c := NewCache(everySubnet{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	for i := range maxSubnets + 10 {
		if _, err := c.Describe(t.Context(), []string{"subnet-" + strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.known.Len(); got != maxSubnets {
		t.Errorf("it has %d subnets, want %d", got, maxSubnets)
	}
}
