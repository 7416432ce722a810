// Package instancetypes knows what the machines of an instance type have: which
// processor, how much memory. What a type is does not change, so it is asked for
// once in a while and remembered.
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

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// API is the part of EC2 that this package calls.
type API interface {
	DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
}

// A Type is what machines of an instance type have.
type Type struct {
	Name string
	// Architectures are in the words of container images: amd64, arm64.
	Architectures []string
	VCPUs         int64
	MemoryMiB     int64
	GPUs          int64
	// GPUMaker is in lower case, such as nvidia; "" without GPUs.
	GPUMaker string
}

// A Cache describes instance types, each at most once in ttl however many ask.
type Cache struct {
	api   func(region string) API
	clock clock.PassiveClock
	calls sharedcall.Group[*Type]

	// Regions and names are what users write in NodePools: both are bounded.
	regions *lru.Cache // API by region
	known   *lru.Cache // entry by key
}

const (
	maxRegions = 100
	maxTypes   = 2000
)

type key struct{ region, name string }

type entry struct {
	it    *Type
	until time.Time
}

// New returns an empty cache. A client for a region is made once, by api.
func New(api func(region string) API, clk clock.PassiveClock) *Cache {
	return &Cache{api: api, clock: clk, regions: lru.New(maxRegions), known: lru.New(maxTypes)}
}

// Describe returns the instance type of that name, or nil if the region has none.
func (c *Cache) Describe(ctx context.Context, region, name string) (*Type, error) {
	k := key{region, name}
	if it, known := c.remembered(k); known {
		return it, nil
	}
	// The pools of an operator that has just started ask for the same few types at once.
	it, err := c.calls.Do(ctx, region+"/"+name, func(ctx context.Context) (*Type, error) { return c.ask(ctx, k) })
	if err != nil {
		return nil, fmt.Errorf("describing instance type %s in %s: %w", name, region, err)
	}
	return it, nil
}

// ask is not under the lock: a region that does not answer holds up nobody else.
func (c *Cache) ask(ctx context.Context, k key) (*Type, error) {
	if it, known := c.remembered(k); known { // since a moment ago
		return it, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pages := ec2.NewDescribeInstanceTypesPaginator(c.client(k.region), &ec2.DescribeInstanceTypesInput{
		// By filter and not by name: a name that does not exist would be an error,
		// the same one as for a name that cannot exist.
		Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{k.name}}},
	})
	var it *Type
	keep := unknownTTL
	for it == nil && pages.HasMorePages() { // a page may be empty
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		if len(page.InstanceTypes) > 0 {
			it, keep = typeOf(page.InstanceTypes[0]), ttl
		}
	}
	c.known.Add(k, entry{it: it, until: c.clock.Now().Add(keep)})
	return it, nil
}

// Known returns what was last learned of an instance type, and asks nobody. A
// nil Cache knows none.
func (c *Cache) Known(region, name string) *Type {
	if c == nil {
		return nil
	}
	e, _ := c.entry(key{region, name})
	return e.it
}

func (c *Cache) remembered(k key) (it *Type, known bool) {
	e, ok := c.entry(k)
	return e.it, ok && c.clock.Now().Before(e.until)
}

func (c *Cache) entry(k key) (entry, bool) {
	e, ok := c.known.Get(k)
	if !ok {
		return entry{}, false
	}
	return e.(entry), true //nolint:forcetypeassert // nothing else is in it
}

func (c *Cache) client(region string) API {
	if there, ok := c.regions.Get(region); ok {
		return there.(API) //nolint:forcetypeassert // nothing else is in it
	}
	there := c.api(region)
	c.regions.Add(region, there)
	return there
}

// architectures are the processors that nodes can have, in the words of EC2 and
// in those of container images.
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
