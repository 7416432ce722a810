package fakeaws

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func init() {
	register(ELB,
		read("DescribeLoadBalancers", (*request).describeLoadBalancers, "LoadBalancerArns", "Names", "PageSize", "Marker"),
		write("DeleteLoadBalancer", (*request).deleteLoadBalancer, "LoadBalancerArn"),
	)
}

// LoadBalancer is a seed for AddLoadBalancer.
type LoadBalancer struct {
	Name  string
	VPC   string   // may be empty
	Zones []string // zone names of this account
	State string   // provisioning, active, active_impaired, failed; active after Delays.LoadBalancer if empty
	Type  string   // network if empty
}

type loadBalancer struct {
	meta  // id is the ARN
	owner string
	seed  LoadBalancer
	zones []zone
	dns   string
}

// balancers are the load balancers of one region; ELB looks them up by ARN and by name.
type balancers struct {
	*store[*loadBalancer]
	byName map[string]*loadBalancer
	users  map[string]*service // by ARN
}

func newBalancers() *balancers {
	return &balancers{newStore[*loadBalancer]("load-balancer", "LoadBalancerNotFound"), map[string]*loadBalancer{}, map[string]*service{}}
}

// AddLoadBalancer makes a load balancer, as the cloud controller of the management
// cluster does, and returns its ARN and its DNS name.
func (a *Account) AddLoadBalancer(region string, seed LoadBalancer) (arn, dns string) {
	c := a.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	r := a.region(region)
	if seed.Type == "" {
		seed.Type = string(types.LoadBalancerTypeEnumNetwork)
	}
	lb := &loadBalancer{meta: c.newMeta("lb", "", nil), owner: a.id, seed: seed}
	for _, name := range seed.Zones {
		z, ok := a.zone(region, name)
		if !ok {
			panic(fmt.Sprintf("fakeaws: AddLoadBalancer: no zone %q in %s", name, region))
		}
		lb.zones = append(lb.zones, z)
	}
	lb.born = c.clock.Now()
	suffix := strings.TrimPrefix(lb.id, "lb-0")
	lb.id = fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:loadbalancer/%s/%s/%s", region, a.id, map[string]string{"network": "net", "gateway": "gwy"}[seed.Type], seed.Name, suffix)
	lb.dns = fmt.Sprintf("%s-%s.elb.%s.amazonaws.com", seed.Name, suffix, region)
	r.balancers.add(lb)
	r.balancers.byName[seed.Name] = lb
	return lb.id, lb.dns
}

// SetLoadBalancerState moves a load balancer to a state, e.g. failed.
func (a *Account) SetLoadBalancerState(region, name, state string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.region(region).balancers.byName[name].seed.State = state
}

// RemoveLoadBalancer removes a load balancer, even if an endpoint service uses it: AWS refuses that, but such a state can be seen after an
// accident.
func (a *Account) RemoveLoadBalancer(region, name string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.region(region).balancers.drop(name)
}

func (b *balancers) drop(name string) {
	if lb := b.byName[name]; lb != nil {
		b.remove(lb.id)
		delete(b.byName, name)
	}
}

func (lb *loadBalancer) state(q *request) string {
	switch {
	case lb.seed.State != "":
		return lb.seed.State
	case q.now.Before(lb.born.Add(q.cloud.delays.LoadBalancer)):
		return string(types.LoadBalancerStateEnumProvisioning)
	}
	return string(types.LoadBalancerStateEnumActive)
}

func notFoundLoadBalancers(what []string) error {
	return modelled(http.StatusBadRequest, &types.LoadBalancerNotFoundException{Message: aws.String(fmt.Sprintf("Load balancers '%s' not found", what))})
}

// describeLoadBalancers fails as a whole when one of the names is missing.
func (q *request) describeLoadBalancers(in *elb.DescribeLoadBalancersInput) (*elb.DescribeLoadBalancersOutput, error) {
	if len(in.Names) > 0 && len(in.LoadBalancerArns) > 0 {
		return nil, refused(http.StatusBadRequest, "ValidationError", "Load balancer names and load balancer ARNs cannot be specified at the same time")
	}
	if n := len(in.Names) + len(in.LoadBalancerArns); n > 20 {
		return nil, refused(http.StatusBadRequest, "ValidationError", "Up to 20 load balancers can be described in a single call")
	}
	b := q.region.balancers
	items := b.order
	if len(in.Names)+len(in.LoadBalancerArns) > 0 {
		items = nil
		var missing []string
		for _, name := range in.Names {
			if lb := b.byName[name]; lb != nil {
				items = append(items, lb)
			} else {
				missing = append(missing, name)
			}
		}
		for _, arn := range in.LoadBalancerArns {
			if lb := b.items[arn]; lb != nil {
				items = append(items, lb)
			} else {
				missing = append(missing, arn)
			}
		}
		if len(missing) > 0 {
			return nil, notFoundLoadBalancers(missing)
		}
		slices.SortFunc(items, func(a, b *loadBalancer) int { return a.sequence - b.sequence })
	}
	p := page{in.PageSize, in.Marker, 1}
	if p.max == nil {
		p.max = aws.Int32(400)
	}
	found, next, err := paginate(q, items, p, func(*loadBalancer) bool { return true })
	if err != nil {
		return nil, refused(http.StatusBadRequest, "ValidationError", err.Error())
	}
	out := &elb.DescribeLoadBalancersOutput{NextMarker: next}
	for _, lb := range found {
		out.LoadBalancers = append(out.LoadBalancers, lb.describe(q))
	}
	return out, nil
}

func (lb *loadBalancer) describe(q *request) types.LoadBalancer {
	d := types.LoadBalancer{
		LoadBalancerArn: aws.String(lb.id), LoadBalancerName: aws.String(lb.seed.Name), DNSName: aws.String(lb.dns),
		Type: types.LoadBalancerTypeEnum(lb.seed.Type), Scheme: types.LoadBalancerSchemeEnumInternal, CreatedTime: aws.Time(lb.born),
		State: &types.LoadBalancerState{Code: types.LoadBalancerStateEnum(lb.state(q))}, IpAddressType: types.IpAddressTypeIpv4,
	}
	if lb.seed.VPC != "" {
		d.VpcId = aws.String(lb.seed.VPC)
	}
	for _, z := range lb.zones {
		d.AvailabilityZones = append(d.AvailabilityZones, types.AvailabilityZone{ZoneName: aws.String(z.name)})
	}
	return d
}

// deleteLoadBalancer succeeds for a load balancer that does not exist, and refuses a load balancer that an endpoint service uses.
func (q *request) deleteLoadBalancer(in *elb.DeleteLoadBalancerInput) (*elb.DeleteLoadBalancerOutput, error) {
	if q.region.serviceOn(*in.LoadBalancerArn) != nil {
		return nil, modelled(http.StatusBadRequest, &types.ResourceInUseException{
			Message: aws.String("Load balancer '" + *in.LoadBalancerArn + "' cannot be deleted because it is currently associated with another service")})
	}
	if lb := q.region.balancers.items[*in.LoadBalancerArn]; lb != nil {
		q.region.balancers.drop(lb.seed.Name)
	}
	return &elb.DeleteLoadBalancerOutput{}, nil
}
