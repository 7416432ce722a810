// Package subnet reads VPC and zone of a customer's subnets. Zones are compared by
// id: their names differ between accounts.
package subnet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// API is the part of EC2 that this package calls.
type API interface {
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
}

// A Subnet is the part of a subnet that we use.
type Subnet struct{ ID, VPC, ZoneID, Zone string }

// A Cache describes subnets. VPC and zone of a subnet never change.
type Cache struct {
	api   API
	known *cache.Keyed[string, Subnet]
	calls sharedcall.Group[struct{}]
}

// maxSubnets is how many subnets are cached. A cluster uses a few.
const maxSubnets = 1000

// NewCache returns an empty cache.
func NewCache(api API, clk clock.PassiveClock) *Cache {
	return &Cache{api: api, known: cache.NewKeyed[string, Subnet](clk, maxSubnets)}
}

// Describe returns the subnets with these ids; a subnet that does not exist is not
// in the answer and does not hide the others.
func (c *Cache) Describe(ctx context.Context, ids []string) (map[string]Subnet, error) {
	if unknown := c.unknown(ids); len(unknown) > 0 {
		_, err := c.calls.Do(ctx, strings.Join(unknown, ","), func(ctx context.Context) (none struct{}, err error) {
			return none, c.learn(ctx, c.unknown(unknown))
		})
		if err != nil {
			return nil, err
		}
	}
	out := map[string]Subnet{}
	for _, id := range ids {
		if subnet, cached := c.known.Fresh(id); cached {
			out[id] = subnet
		}
	}
	return out, nil
}

func (c *Cache) unknown(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, cached := c.known.Fresh(id)
		return cached
	})
}

// learn uses a filter. With ids, EC2 refuses the whole call for one subnet that does
// not exist.
func (c *Cache) learn(ctx context.Context, ids []string) error {
	for chunk := range slices.Chunk(ids, filterValues) {
		pages := ec2.NewDescribeSubnetsPaginator(c.api, &ec2.DescribeSubnetsInput{
			Filters: []types.Filter{{Name: aws.String("subnet-id"), Values: chunk}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("describing subnets: %w", err)
			}
			for _, s := range page.Subnets {
				subnet := read(s)
				c.known.Put(subnet.ID, subnet, awsx.SubnetTTL)
			}
		}
	}
	return nil
}

func read(s types.Subnet) Subnet {
	return Subnet{
		ID: aws.ToString(s.SubnetId), VPC: aws.ToString(s.VpcId), ZoneID: aws.ToString(s.AvailabilityZoneId), Zone: aws.ToString(s.AvailabilityZone),
	}
}

// filterValues is how many values EC2 takes in one filter.
const filterValues = 200
