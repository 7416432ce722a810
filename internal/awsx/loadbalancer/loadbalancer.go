// Package loadbalancer finds Network Load Balancers by their names.
package loadbalancer

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

// API is the part of ELBv2 that this package uses.
type API interface {
	DescribeLoadBalancers(context.Context, *elb.DescribeLoadBalancersInput, ...func(*elb.Options)) (*elb.DescribeLoadBalancersOutput, error)
}

// NewClient returns a client for load balancers.
func NewClient(cfg aws.Config) *elb.Client { return elb.NewFromConfig(cfg) }

// State is the state of a load balancer, as AWS writes it.
type State string

// The states that make a difference.
const (
	Active State = State(types.LoadBalancerStateEnumActive)
	// Impaired is active, and short of resources to scale.
	Impaired     State = State(types.LoadBalancerStateEnumActiveImpaired)
	Provisioning State = State(types.LoadBalancerStateEnumProvisioning)
	Failed       State = State(types.LoadBalancerStateEnumFailed)
)

// A LoadBalancer is a load balancer as last observed.
type LoadBalancer struct {
	Name, ARN string
	State     State
	// Network is false for a load balancer that PrivateLink cannot use.
	Network bool
}

// Serves is true if the load balancer takes traffic.
func (lb LoadBalancer) Serves() bool { return lb.State == Active || lb.State == Impaired }

// LoadBalancers are the ones of an account in a region.
type LoadBalancers struct {
	api API
	all *cache.List[LoadBalancer]
}

// New returns the load balancers of the account of api. The state of a load balancer
// that serves may be up to ttl old.
func New(api API, clk clock.PassiveClock, ttl time.Duration) *LoadBalancers {
	l := &LoadBalancers{api: api}
	l.all = cache.NewList(cache.ListOptions[LoadBalancer]{
		Clock: clk, Key: func(lb LoadBalancer) string { return lb.Name }, Load: l.list, TTL: ttl,
	})
	return l
}

// Find returns the load balancer with that name. A load balancer that does not exist or serve yet
// is read by name, which costs one call instead of a list of all load balancers.
func (l *LoadBalancers) Find(ctx context.Context, name string) (lb LoadBalancer, found bool, err error) {
	lb, found, err = l.all.Get(ctx, name)
	if err != nil || found && lb.Serves() {
		return lb, found, err
	}
	out, err := l.api.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{name}})
	if awsx.IsNotFound(err) {
		l.all.Remove(name)
		return LoadBalancer{}, false, nil
	}
	if err != nil {
		return LoadBalancer{}, false, fmt.Errorf("looking up load balancer %s: %w", name, err)
	}
	for _, got := range out.LoadBalancers {
		if aws.ToString(got.LoadBalancerName) == name {
			lb := view(got)
			l.all.Put(lb)
			return lb, true, nil
		}
	}
	return LoadBalancer{}, false, nil
}

// Forget makes the next Find of that name call AWS, after an error that contradicts
// the cached state.
func (l *LoadBalancers) Forget(name string) { l.all.Forget(name) }

func (l *LoadBalancers) list(ctx context.Context) ([]LoadBalancer, error) {
	var all []LoadBalancer
	pages := elb.NewDescribeLoadBalancersPaginator(l.api, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing load balancers: %w", err)
		}
		for _, lb := range page.LoadBalancers {
			all = append(all, view(lb))
		}
	}
	return all, nil
}

func view(lb types.LoadBalancer) LoadBalancer {
	v := LoadBalancer{
		Name:    aws.ToString(lb.LoadBalancerName),
		ARN:     aws.ToString(lb.LoadBalancerArn),
		Network: lb.Type == types.LoadBalancerTypeEnumNetwork,
	}
	if lb.State != nil {
		v.State = State(lb.State.Code)
	}
	return v
}
