// Package instancetypes describes instance types: processor, memory, GPUs. They do
// not change and are cached.
package instancetypes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

// API is the part of EC2 that this package calls.
type API interface {
	DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
}

// A Type is the part of an instance type that we use.
type Type struct {
	Name string
	// Architectures are as container images name them: amd64, arm64.
	Architectures []string
	VCPUs         int64
	MemoryMiB     int64
	GPUs          int64
	// GPUMaker is in lower case, such as nvidia; "" without GPUs.
	GPUMaker string
}

// A Cache describes instance types.
type Cache struct {
	api func(region string) API

	// Regions and names come from NodePools of users. Both caches are bounded.
	regions *lru.Cache // API by region
	known   *cache.Keyed[key, *Type]
}

const (
	maxRegions = 100
	maxTypes   = 2000
	// callTimeout bounds the describe call, its retries included. All callers that
	// share the call wait for it.
	callTimeout = time.Minute
)

type key struct{ region, name string }

// New returns an empty cache. api returns the client of a region, and is called
// once for each.
func New(api func(region string) API, clk clock.PassiveClock) *Cache {
	return &Cache{api: api, regions: lru.New(maxRegions), known: cache.NewKeyed[key, *Type](clk, maxTypes)}
}

// Describe returns the instance type of that name, or nil if the region has none.
func (c *Cache) Describe(ctx context.Context, region, name string) (*Type, error) {
	it, err := c.known.Get(ctx, key{region, name}, func(ctx context.Context) (*Type, time.Duration, error) {
		return c.describe(ctx, region, name)
	})
	if err != nil {
		return nil, fmt.Errorf("describing instance type %s in %s: %w", name, region, err)
	}
	return it, nil
}

func (c *Cache) describe(ctx context.Context, region, name string) (*Type, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pages := ec2.NewDescribeInstanceTypesPaginator(c.client(region), &ec2.DescribeInstanceTypesInput{
		// A name that does not exist is an empty list for a filter. As a parameter
		// it is an error, the same as for a name that cannot exist.
		Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{name}}},
	})
	for pages.HasMorePages() { // a page may be empty
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, 0, err
		}
		if len(page.InstanceTypes) > 0 {
			return typeOf(page.InstanceTypes[0]), awsx.InstanceTypeTTL, nil
		}
	}
	return nil, awsx.UnknownInstanceTypeTTL, nil
}

// Known returns the last answer about an instance type, without a call. A nil
// Cache has none.
func (c *Cache) Known(region, name string) *Type {
	if c == nil {
		return nil
	}
	it, _ := c.known.Last(key{region, name})
	return it
}

func (c *Cache) client(region string) API {
	if cached, ok := c.regions.Get(region); ok {
		return cached.(API) //nolint:forcetypeassert // the cache holds nothing else
	}
	client := c.api(region)
	c.regions.Add(region, client)
	return client
}

// architectures are the processors that nodes can have, as EC2 names them and
// as container images do.
var architectures = map[types.ArchitectureType]string{
	types.ArchitectureTypeX8664: "amd64",
	types.ArchitectureTypeArm64: "arm64",
}

func typeOf(info types.InstanceTypeInfo) *Type {
	it := &Type{Name: string(info.InstanceType)}
	if p := info.ProcessorInfo; p != nil {
		for _, a := range p.SupportedArchitectures {
			if arch, ok := architectures[a]; ok && !slices.Contains(it.Architectures, arch) {
				it.Architectures = append(it.Architectures, arch)
			}
		}
	}
	if v := info.VCpuInfo; v != nil {
		it.VCPUs = int64(aws.ToInt32(v.DefaultVCpus))
	}
	if m := info.MemoryInfo; m != nil {
		it.MemoryMiB = aws.ToInt64(m.SizeInMiB)
	}
	it.GPUs, it.GPUMaker = gpusOf(info.GpuInfo)
	return it
}
