package endpointservice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Spec is the endpoint service that we want.
type Spec struct {
	Owner
	LoadBalancerARN string
	// Principals are the only ones that may connect.
	Principals []string
	// Optional are those of Principals without which the service is complete: if AWS refuses one, it is left out for a while.
	Optional []string
	// Tags are all tags, the owner's included. StaleTags are keys of tags to remove.
	// Any other tag stays.
	Tags      awsx.Tags
	StaleTags []string
	// Recorded is the name of the service in the status, or "". The status has other
	// writers, so it is only a hint.
	Recorded string
	// Request identifies one request for a service: the same text twice, as after a
	// crash, creates one service.
	Request string
}

// Ensure makes the service match spec and returns it as it is now.
func (s *Services) Ensure(ctx context.Context, spec Spec) (Service, error) {
	svc, found, err := s.find(ctx, spec)
	if err != nil {
		return Service{}, err
	}
	if !found {
		svc, err = s.create(ctx, spec)
		if err != nil {
			return Service{}, s.invalidate(spec.Owner, "", err)
		}
	}
	if svc.State == Deleting {
		return svc, nil
	}
	if err := s.update(ctx, spec, &svc); err != nil {
		return Service{}, s.invalidate(spec.Owner, svc.ID, err)
	}
	if svc.AddedPrincipals, err = s.ensurePrincipals(ctx, svc.ID, spec); err != nil {
		return Service{}, s.invalidate(spec.Owner, svc.ID, err)
	}
	return svc, nil
}

func (s *Services) find(ctx context.Context, spec Spec) (svc Service, found bool, err error) {
	mine, err := s.cached(ctx, spec.Owner)
	if err != nil {
		return Service{}, false, err
	}
	switch {
	case len(mine) > 0 && mine[0].State == Available:
		return mine[0], true, nil
	case len(mine) > 0: // it is changing: a shared list is too old
		svc, found, err = s.get(ctx, mine[0].ID)
	default:
		svc, found, err = s.recorded(ctx, spec)
	}
	if found {
		s.put(svc, spec.Owner)
	}
	return svc, found, err
}

// recorded finds the service by its recorded name: it is still ours when our tags
// were removed from it. The record has other writers, so the service must be on our
// load balancer, and its tags must name no other owner.
func (s *Services) recorded(ctx context.Context, spec Spec) (svc Service, found bool, err error) {
	id := spec.Recorded[strings.LastIndex(spec.Recorded, ".")+1:]
	if id == "" {
		return Service{}, false, nil
	}
	svc, found, err = s.get(ctx, id)
	if err != nil || !found {
		return Service{}, false, err
	}
	if !slices.Equal(svc.loadBalancers, []string{spec.LoadBalancerARN}) || foreign(svc.tags, spec.Tags) {
		return Service{}, false, nil
	}
	return svc, true, nil
}

// foreign is true if tags name another owner, or another cluster, than desired.
func foreign(tags, desired awsx.Tags) bool {
	for k, v := range tags {
		owns := k == awsx.OwnerTag || k == awsx.RoleTag || strings.HasPrefix(k, names.ClusterTag(""))
		if owns && desired[k] != v {
			return true
		}
	}
	return false
}

func (s *Services) create(ctx context.Context, spec Spec) (Service, error) {
	ctrl.LoggerFrom(ctx).Info("Creating endpoint service", "loadBalancer", spec.LoadBalancerARN)
	out, err := s.api.CreateVpcEndpointServiceConfiguration(ctx, &ec2.CreateVpcEndpointServiceConfigurationInput{
		AcceptanceRequired:      aws.Bool(false),
		NetworkLoadBalancerArns: []string{spec.LoadBalancerARN},
		ClientToken:             aws.String(spec.token()),
		TagSpecifications:       ec2util.TagsOnCreate(types.ResourceTypeVpcEndpointService, spec.Tags),
	})
	if err != nil {
		return Service{}, fmt.Errorf("creating an endpoint service on %s: %w", spec.LoadBalancerARN, err)
	}
	svc, err := s.view(ctx, *out.ServiceConfiguration)
	if err != nil {
		return Service{}, err
	}
	s.put(svc, spec.Owner)
	s.putPrincipals(svc.ID, nil) // a new service has none
	return svc, nil
}

// token is the same for the same request and parameters: AWS refuses a known token
// with other parameters.
func (spec Spec) token() string {
	text, _ := json.Marshal([]any{spec.Owner, spec.Request, spec.LoadBalancerARN, spec.Tags})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// update repairs the attributes and the tags.
func (s *Services) update(ctx context.Context, spec Spec, svc *Service) error {
	for _, change := range diff(spec, *svc) {
		if err := s.modify(ctx, spec, change, svc); err != nil {
			return err
		}
	}
	changed, err := ec2util.Retag(ctx, s.api, svc.ID, spec.Tags, svc.tags, spec.StaleTags, logged(ctx))
	if !changed {
		return err
	}
	svc.tags = maps.Clone(svc.tags)
	maps.Copy(svc.tags, spec.Tags)
	for _, key := range spec.StaleTags {
		delete(svc.tags, key)
	}
	s.put(*svc, spec.Owner)
	return nil
}

// logged logs changes of tags.
func logged(ctx context.Context) awsx.Hooks {
	log := func(id, what string) { ctrl.LoggerFrom(ctx).Info("Endpoint service: "+what, "service", id) }
	return awsx.Hooks{OnChange: log, OnSkip: log}
}

// modify makes the change and reads the service again: the load balancer decides
// in which zones it is.
func (s *Services) modify(ctx context.Context, spec Spec, change *ec2.ModifyVpcEndpointServiceConfigurationInput, svc *Service) error {
	ctrl.LoggerFrom(ctx).Info("Modifying endpoint service", "service", svc.ID, "loadBalancer", spec.LoadBalancerARN,
		"otherSettings", change.AddNetworkLoadBalancerArns == nil && change.RemoveNetworkLoadBalancerArns == nil)
	if _, err := s.api.ModifyVpcEndpointServiceConfiguration(ctx, change); err != nil {
		return fmt.Errorf("modifying endpoint service %s: %w", svc.ID, err)
	}
	now, found, err := s.get(ctx, svc.ID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("endpoint service %s disappeared while it was modified", svc.ID)
	}
	applyTo(&now, change)
	*svc = now
	s.put(now, spec.Owner)
	return nil
}

// applyTo applies change to AWS's description of the service, which may not show the change yet.
func applyTo(svc *Service, change *ec2.ModifyVpcEndpointServiceConfigurationInput) {
	edit := func(list, add, remove []string) []string {
		return minus(slices.Concat(list, minus(add, list)), remove)
	}
	svc.loadBalancers = edit(svc.loadBalancers, change.AddNetworkLoadBalancerArns, change.RemoveNetworkLoadBalancerArns)
	svc.addressTypes = edit(svc.addressTypes, change.AddSupportedIpAddressTypes, change.RemoveSupportedIpAddressTypes)
	svc.regions = edit(svc.regions, change.AddSupportedRegions, change.RemoveSupportedRegions)
	if change.AcceptanceRequired != nil {
		svc.acceptance = *change.AcceptanceRequired
	}
	if aws.ToBool(change.RemovePrivateDnsName) {
		svc.privateName = ""
	}
}

// minus returns the elements of a that are not in b, or nil.
func minus(a, b []string) []string {
	var out []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}
