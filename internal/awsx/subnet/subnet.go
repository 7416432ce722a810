// Package subnet knows where the subnets of a customer are: in which VPC, and
// in which zone by its id, which means the same place in every account.
package subnet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// API is the part of EC2 that this package calls.
type API interface {
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
}

// A Subnet is what we need to know of one.
type Subnet struct{ ID, VPC, ZoneID, Zone string }

// A Cache describes subnets. Where a subnet is never changes, so it asks once
// per ttl about each; the next user of a cluster's subnets asks for nothing.
type Cache struct {
	api   API
	clock clock.PassiveClock
	calls sharedcall.Group[struct{}]

	mu    sync.Mutex
	known map[string]entry
}

type entry struct {
	subnet Subnet
	until  time.Time
}

// NewCache returns an empty cache.
func NewCache(api API, clk clock.PassiveClock) *Cache {
	return &Cache{api: api, clock: clk, known: map[string]entry{}}
}

// Describe returns the subnets with these ids; one that does not exist is not
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
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]Subnet{}
	for _, id := range ids {
		if e, ok := c.known[id]; ok {
			out[id] = e.subnet
		}
	}
	return out, nil
}

func (c *Cache) unknown(ids []string) (unknown []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for _, id := range ids {
		if e, ok := c.known[id]; !ok || now.After(e.until) {
			delete(c.known, id)
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// learn asks by filter and not by id: by id, one subnet that does not exist
// makes EC2 refuse the whole call.
func (c *Cache) learn(ctx context.Context, ids []string) error {
	until := c.clock.Now().Add(ttl)
	for chunk := range slices.Chunk(ids, filterValues) {
		pages := ec2.NewDescribeSubnetsPaginator(c.api, &ec2.DescribeSubnetsInput{
			Filters: []types.Filter{{Name: aws.String("subnet-id"), Values: chunk}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("describing subnets: %w", err)
			}
			c.remember(page.Subnets, until)
		}
	}
	return nil
}

func (c *Cache) remember(subnets []types.Subnet, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range subnets {
		id := aws.ToString(s.SubnetId)
		c.known[id] = entry{until: until, subnet: Subnet{
			ID: id, VPC: aws.ToString(s.VpcId), ZoneID: aws.ToString(s.AvailabilityZoneId), Zone: aws.ToString(s.AvailabilityZone),
		}}
	}
}

// filterValues is how many values EC2 takes in one filter.
const filterValues = 200
