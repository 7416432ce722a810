package instancetypes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// region is an EC2 with some types that counts its calls.
type region struct {
	types map[string]types.InstanceTypeInfo
	asked int
	err   error
}

func (r *region) DescribeInstanceTypes(_ context.Context, in *ec2.DescribeInstanceTypesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	r.asked++
	if r.err != nil {
		return nil, r.err
	}
	out := &ec2.DescribeInstanceTypesOutput{}
	for _, name := range in.Filters[0].Values {
		if info, ok := r.types[name]; ok {
			out.InstanceTypes = append(out.InstanceTypes, info)
		}
	}
	return out, nil
}

var known = map[string]types.InstanceTypeInfo{
	"m6g.large": {
		InstanceType:  "m6g.large",
		ProcessorInfo: &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{types.ArchitectureTypeArm64}},
		VCpuInfo:      &types.VCpuInfo{DefaultVCpus: aws.Int32(2)},
		MemoryInfo:    &types.MemoryInfo{SizeInMiB: aws.Int64(8192)},
	},
	"p4d.24xlarge": {
		InstanceType:  "p4d.24xlarge",
		ProcessorInfo: &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{types.ArchitectureTypeI386, types.ArchitectureTypeX8664}},
		VCpuInfo:      &types.VCpuInfo{DefaultVCpus: aws.Int32(96)},
		MemoryInfo:    &types.MemoryInfo{SizeInMiB: aws.Int64(1179648)},
		GpuInfo:       &types.GpuInfo{Gpus: []types.GpuDeviceInfo{{Count: aws.Int32(8), Manufacturer: aws.String("NVIDIA")}}},
	},
}

func TestDescribe(t *testing.T) {
	cache := New(func(string) API { return &region{types: known} }, clocktesting.NewFakePassiveClock(time.Now()))
	for name, want := range map[string]*Type{
		"m6g.large":    {Name: "m6g.large", Architectures: []string{"arm64"}, VCPUs: 2, MemoryMiB: 8192},
		"p4d.24xlarge": {Name: "p4d.24xlarge", Architectures: []string{"amd64"}, VCPUs: 96, MemoryMiB: 1179648, GPUs: 8, GPUMaker: "nvidia"},
		"m99.tiny":     nil,
	} {
		got, err := cache.Describe(t.Context(), "us-east-1", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEachTypeIsDescribedOnceInEachRegion(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	regions := map[string]*region{"us-east-1": {types: known}, "eu-west-1": {}}
	cache := New(func(name string) API { return regions[name] }, clock)
	for range 3 {
		if it, err := cache.Describe(t.Context(), "us-east-1", "m6g.large"); err != nil || it == nil {
			t.Errorf("%v, %v in a region that has the type", it, err)
		}
		if it, err := cache.Describe(t.Context(), "eu-west-1", "m6g.large"); err != nil || it != nil {
			t.Errorf("%v, %v in a region that has not", it, err)
		}
	}
	clock.SetTime(clock.Now().Add(awsx.UnknownInstanceTypeTTL))
	regions["eu-west-1"].types = known
	if it, err := cache.Describe(t.Context(), "eu-west-1", "m6g.large"); err != nil || it == nil {
		t.Errorf("%v, %v when the type has come to the region", it, err)
	}
	if regions["us-east-1"].asked != 1 || regions["eu-west-1"].asked != 2 {
		t.Errorf("asked %d and %d times, want 1 and 2", regions["us-east-1"].asked, regions["eu-west-1"].asked)
	}
}

func TestAnInstanceTypeIsDescribedAgainAfterItsLifetime(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	here := &region{types: known}
	cache := New(func(string) API { return here }, clock)
	for _, step := range []struct {
		after time.Duration
		calls int
	}{{0, 1}, {awsx.InstanceTypeTTL - time.Second, 1}, {time.Second, 2}} {
		clock.SetTime(clock.Now().Add(step.after))
		if _, err := cache.Describe(t.Context(), "us-east-1", "m6g.large"); err != nil || here.asked != step.calls {
			t.Errorf("%d calls, %v; want %d", here.asked, err, step.calls)
		}
	}
}

// slow is a region that answers when the test wants it.
type slow struct {
	region
	answer chan struct{}
}

func (s *slow) DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	select {
	case <-s.answer:
		return s.region.DescribeInstanceTypes(ctx, in, opts...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestConcurrentCallersShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := &slow{region: region{types: known}, answer: make(chan struct{})}
		cache := New(func(string) API { return here }, clocktesting.NewFakePassiveClock(time.Now()))
		hasty, leave := context.WithCancel(t.Context())
		go func() {
			if it, err := cache.Describe(hasty, "us-east-1", "m6g.large"); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v for somebody who has left", it, err)
			}
		}()
		synctest.Wait() // the first question is out
		for range 10 {
			go func() {
				if it, err := cache.Describe(t.Context(), "us-east-1", "m6g.large"); err != nil || it == nil {
					t.Errorf("%v, %v for somebody who has waited", it, err)
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(here.answer)
		synctest.Wait()
		if here.asked != 1 {
			t.Errorf("asked %d times, want once", here.asked)
		}
	})
}

func TestAnErrorIsNotCached(t *testing.T) {
	here := &region{types: known, err: errors.New("throttled")}
	cache := New(func(string) API { return here }, clocktesting.NewFakePassiveClock(time.Now()))
	if it, err := cache.Describe(t.Context(), "us-east-1", "m6g.large"); err == nil {
		t.Errorf("%v in spite of an error", it)
	}
	here.err = nil
	if it, err := cache.Describe(t.Context(), "us-east-1", "m6g.large"); err != nil || it == nil {
		t.Errorf("%v, %v after the error has passed", it, err)
	}
}

func TestKnownMakesNoCall(t *testing.T) {
	there := &region{types: known}
	clk := clocktesting.NewFakePassiveClock(time.Now())
	cache := New(func(string) API { return there }, clk)
	if it := cache.Known("us-east-1", "m6g.large"); it != nil || there.asked > 0 {
		t.Errorf("nobody has asked for it, and it is %+v after %d questions", it, there.asked)
	}
	want, err := cache.Describe(t.Context(), "us-east-1", "m6g.large")
	if err != nil {
		t.Fatal(err)
	}
	clk.SetTime(clk.Now().Add(2 * awsx.InstanceTypeTTL))
	if it := cache.Known("us-east-1", "m6g.large"); it != want || there.asked > 1 {
		t.Errorf("it is %+v after %d questions", it, there.asked)
	}
	if it := (*Cache)(nil).Known("us-east-1", "m6g.large"); it != nil {
		t.Errorf("an installation that may not ask knows %+v", it)
	}
}
