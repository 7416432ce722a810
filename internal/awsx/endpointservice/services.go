package endpointservice

import (
	"cmp"
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

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// API is the part of EC2 that this package uses.
type API interface {
	CreateVpcEndpointServiceConfiguration(context.Context, *ec2.CreateVpcEndpointServiceConfigurationInput, ...func(*ec2.Options)) (*ec2.CreateVpcEndpointServiceConfigurationOutput, error)
	DescribeVpcEndpointServiceConfigurations(context.Context, *ec2.DescribeVpcEndpointServiceConfigurationsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointServiceConfigurationsOutput, error)
	ModifyVpcEndpointServiceConfiguration(context.Context, *ec2.ModifyVpcEndpointServiceConfigurationInput, ...func(*ec2.Options)) (*ec2.ModifyVpcEndpointServiceConfigurationOutput, error)
	DeleteVpcEndpointServiceConfigurations(context.Context, *ec2.DeleteVpcEndpointServiceConfigurationsInput, ...func(*ec2.Options)) (*ec2.DeleteVpcEndpointServiceConfigurationsOutput, error)
	DescribeVpcEndpointServicePermissions(context.Context, *ec2.DescribeVpcEndpointServicePermissionsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointServicePermissionsOutput, error)
	ModifyVpcEndpointServicePermissions(context.Context, *ec2.ModifyVpcEndpointServicePermissionsInput, ...func(*ec2.Options)) (*ec2.ModifyVpcEndpointServicePermissionsOutput, error)
	DescribeVpcEndpointConnections(context.Context, *ec2.DescribeVpcEndpointConnectionsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointConnectionsOutput, error)
	RejectVpcEndpointConnections(context.Context, *ec2.RejectVpcEndpointConnectionsInput, ...func(*ec2.Options)) (*ec2.RejectVpcEndpointConnectionsOutput, error)
	DescribeAvailabilityZones(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
	ec2util.Retagger
}

// State is the state of an endpoint service, as AWS writes it.
type State string

// The states that make a difference.
const (
	Pending   State = State(types.ServiceStatePending)
	Available State = State(types.ServiceStateAvailable)
	Deleting  State = State(types.ServiceStateDeleting)
	Deleted   State = State(types.ServiceStateDeleted)
	Failed    State = State(types.ServiceStateFailed)
)

// A Service is an endpoint service as last observed.
type Service struct {
	ID, Name string
	State    State
	// ZoneIDs are the zones in which endpoints can be made, sorted. Zone
	// *names* mean different zones in different accounts; ids do not.
	ZoneIDs []string
	// AddedPrincipals are those that this call of Ensure has allowed to connect.
	AddedPrincipals []string

	loadBalancers []string
	zoneNames     []string
	acceptance    bool
	privateName   string
	addressTypes  []string
	regions       []string // with endpoints, other than its own
	tags          awsx.Tags
}

// Options are the lifetimes of cached lists.
type Options struct {
	ListTTL       time.Duration // of the list of all services
	PrincipalsTTL time.Duration // of the principals of one service
}

// Services are the endpoint services of an account in a region.
type Services struct {
	api  API
	opts Options
	all  *cache.List[ownedServices]

	principals *cache.Keyed[string, []string]            // by service id
	zoneIDs    *cache.Keyed[struct{}, map[string]string] // by zone name, in this account

	clock clock.PassiveClock

	mu      sync.Mutex
	invalid map[Owner]bool
	refused map[string]time.Time // principals, until when they are not tried again
}

// ownedServices are the services of an owner; more than one only after a failure.
type ownedServices struct {
	owner    Owner
	services []Service
}

// maxPrincipals is how many services have their principals cached.
const maxPrincipals = 10000

// New returns the endpoint services of the account of api.
func New(api API, clk clock.PassiveClock, opts Options) *Services {
	s := &Services{
		api: api, opts: opts, clock: clk, invalid: map[Owner]bool{}, refused: map[string]time.Time{},
		principals: cache.NewKeyed[string, []string](clk, maxPrincipals), zoneIDs: cache.NewKeyed[struct{}, map[string]string](clk, 1),
	}
	s.all = cache.NewList(cache.ListOptions[ownedServices]{
		Clock: clk, Key: func(o ownedServices) string { return o.owner.key() }, Load: s.list, TTL: opts.ListTTL,
	})
	return s
}

// An Owner names one service of one hosted control plane.
type Owner struct {
	UID  string // of the HostedControlPlane: the value of awsx.OwnerTag
	Role string // of the service for it: the value of awsx.RoleTag
}

func (o Owner) key() string { return o.UID + "/" + o.Role }

func ownerIn(tags awsx.Tags) Owner {
	return Owner{UID: tags[awsx.OwnerTag], Role: tags[awsx.RoleTag]}
}

// list reads all services with an owner tag. AWS filters by the key; the tag is
// checked again, so that a wrong answer does not make a service of others ours.
func (s *Services) list(ctx context.Context) ([]ownedServices, error) {
	found, err := s.describe(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{
		Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{awsx.OwnerTag}}},
	})
	if err != nil {
		return nil, fmt.Errorf("listing endpoint services: %w", err)
	}
	byOwner := map[Owner][]Service{}
	for _, svc := range found {
		if owner := ownerIn(svc.tags); owner.UID != "" {
			byOwner[owner] = append(byOwner[owner], svc)
		}
	}
	var all []ownedServices
	for owner, services := range byOwner {
		all = append(all, ownedServices{owner, services})
	}
	return all, nil
}

func (s *Services) describe(ctx context.Context, in *ec2.DescribeVpcEndpointServiceConfigurationsInput) ([]Service, error) {
	var found []Service
	pages := ec2.NewDescribeVpcEndpointServiceConfigurationsPaginator(s.api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range page.ServiceConfigurations {
			svc, err := s.view(ctx, c)
			if err != nil {
				return nil, err
			}
			if svc.State != Deleted {
				found = append(found, svc)
			}
		}
	}
	slices.SortFunc(found, func(a, b Service) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}

// get returns the service with that id as it is now.
func (s *Services) get(ctx context.Context, id string) (svc Service, found bool, err error) {
	got, err := s.describe(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
	if awsx.IsNotFound(err) {
		return Service{}, false, nil
	}
	if err != nil {
		return Service{}, false, fmt.Errorf("looking up endpoint service %s: %w", id, err)
	}
	for _, svc := range got {
		if svc.ID == id {
			return svc, true, nil
		}
	}
	return Service{}, false, nil
}

func (s *Services) view(ctx context.Context, c types.ServiceConfiguration) (Service, error) {
	svc := Service{
		ID:            aws.ToString(c.ServiceId),
		Name:          aws.ToString(c.ServiceName),
		State:         State(c.ServiceState),
		ZoneIDs:       slices.Sorted(slices.Values(c.AvailabilityZoneIds)),
		loadBalancers: c.NetworkLoadBalancerArns,
		zoneNames:     c.AvailabilityZones,
		acceptance:    aws.ToBool(c.AcceptanceRequired),
		privateName:   aws.ToString(c.PrivateDnsName),
		tags:          ec2util.Tags(c.Tags),
	}
	for _, t := range c.SupportedIpAddressTypes {
		svc.addressTypes = append(svc.addressTypes, string(t))
	}
	for _, r := range c.SupportedRegions {
		// AWS lists the region of the service, which cannot be removed, too, and
		// removed ones for a while.
		if name := aws.ToString(r.Region); name != regionOf(svc.Name) && !strings.HasPrefix(aws.ToString(r.ServiceState), "Delet") {
			svc.regions = append(svc.regions, name)
		}
	}
	if len(svc.ZoneIDs) > 0 || len(svc.zoneNames) == 0 {
		return svc, nil
	}
	ids, err := s.zones(ctx)
	if err != nil {
		return Service{}, err
	}
	for _, name := range svc.zoneNames {
		if id := ids[name]; id != "" {
			svc.ZoneIDs = append(svc.ZoneIDs, id)
		}
	}
	slices.Sort(svc.ZoneIDs)
	return svc, nil
}

// regionOf returns the region in a name such as com.amazonaws.vpce.us-east-1.vpce-svc-0.
func regionOf(serviceName string) string {
	_, rest, _ := strings.Cut(serviceName, ".vpce.")
	region, _, _ := strings.Cut(rest, ".")
	return region
}

// zones returns the zone ids of this account by name. They never change, so they
// are read once. Regions that answer with ids never need this.
func (s *Services) zones(ctx context.Context) (map[string]string, error) {
	return s.zoneIDs.Get(ctx, struct{}{}, func(ctx context.Context) (map[string]string, time.Duration, error) {
		out, err := s.api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
		if err != nil {
			return nil, 0, fmt.Errorf("translating zone names: %w", err)
		}
		ids := map[string]string{}
		for _, z := range out.AvailabilityZones {
			ids[aws.ToString(z.ZoneName)] = aws.ToString(z.ZoneId)
		}
		return ids, awsx.Forever, nil
	})
}
