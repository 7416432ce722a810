// Package instancetypes knows what the machines of an instance type have: which
// processor, how much memory. What a type is does not change, so it is asked for
// once in a while and remembered.
package instancetypes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
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
	api     func(region string) API
	clock   clock.PassiveClock
	flights singleflight.Group

	mu      sync.Mutex
	regions map[string]API
	known   map[key]entry
}

type key struct{ region, name string }

type entry struct {
	it    *Type
	until time.Time
}

// New returns an empty cache. A client for a region is made once, by api.
func New(api func(region string) API, clk clock.PassiveClock) *Cache {
	return &Cache{api: api, clock: clk, regions: map[string]API{}, known: map[key]entry{}}
}

// Describe returns the instance type of that name, or nil if the region has none.
func (c *Cache) Describe(ctx context.Context, region, name string) (*Type, error) {
	k := key{region, name}
	if it, known := c.remembered(k); known {
		return it, nil
	}
	// The pools of an operator that has just started ask for the same few types
	// at once. Who asks first may lose patience, and others wait for the same.
	flight := c.flights.DoChan(region+"/"+name, func() (any, error) { return c.ask(context.WithoutCancel(ctx), k) })
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("describing instance type %s in %s: %w", name, region, ctx.Err())
	case answer := <-flight:
		return answer.Val.(*Type), answer.Err
	}
}

// ask is not under the lock: a region that does not answer holds up nobody else.
func (c *Cache) ask(ctx context.Context, k key) (*Type, error) {
	if it, known := c.remembered(k); known { // since a moment ago
		return it, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := c.client(k.region).DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{
		// By filter and not by name: a name that does not exist would be an error,
		// the same one as for a name that cannot exist.
		Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{k.name}}},
	})
	if err != nil {
		return nil, fmt.Errorf("describing instance type %s in %s: %w", k.name, k.region, err)
	}
	var it *Type
	keep := unknownTTL
	if len(out.InstanceTypes) > 0 {
		it, keep = typeOf(out.InstanceTypes[0]), ttl
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[k] = entry{it: it, until: c.clock.Now().Add(keep)}
	return it, nil
}

// Known returns what was last learned of an instance type, and asks nobody. A
// nil Cache knows none.
func (c *Cache) Known(region, name string) *Type {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key{region, name}].it
}

func (c *Cache) remembered(k key) (it *Type, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[k]
	return e.it, ok && c.clock.Now().Before(e.until)
}

func (c *Cache) client(region string) API {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.regions[region] == nil {
		c.regions[region] = c.api(region)
	}
	return c.regions[region]
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
