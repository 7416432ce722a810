package endpointservice

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// invalidate drops the cached state of one owner's service, when an error of AWS
// contradicts it, or when it is unknown whether a write was applied. The cached state
// of other owners stays: a request that AWS always refuses, such as one with a role
// that does not exist, is repeated for ever.
func (s *Services) invalidate(owner Owner, id string, err error) error {
	if awsx.IsThrottled(err) || awsx.IsDenied(err) {
		return err
	}
	s.forget(owner, id)
	return err
}

func (s *Services) forget(owner Owner, ids ...string) {
	s.all.Forget(owner.key())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalid[owner] = true
	for _, id := range ids {
		s.principals.Forget(id)
	}
}

// Invalidate makes the next call of Ensure read the owner's service and its principals from AWS.
func (s *Services) Invalidate(ctx context.Context, owner Owner) error {
	mine, _, err := s.all.Get(ctx, owner.key())
	if err != nil {
		return err
	}
	var ids []string
	for _, svc := range mine.services {
		ids = append(ids, svc.ID)
	}
	s.forget(owner, ids...)
	return nil
}

// cached returns the owner's services from the cache, or from AWS if they were
// invalidated.
func (s *Services) cached(ctx context.Context, owner Owner) ([]Service, error) {
	s.mu.Lock()
	invalid := s.invalid[owner]
	s.mu.Unlock()
	if !invalid {
		mine, _, err := s.all.Get(ctx, owner.key())
		return mine.services, err
	}
	mine, err := s.lookUp(ctx, owner)
	if err != nil {
		return nil, err
	}
	if len(mine) > 0 {
		s.all.Put(ownedServices{owner, mine})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.invalid, owner)
	return mine, nil
}

func (s *Services) put(svc Service, owner Owner) {
	s.all.Put(ownedServices{owner, []Service{svc}})
}

// lookUp reads the services of one owner.
func (s *Services) lookUp(ctx context.Context, owner Owner) ([]Service, error) {
	found, err := s.describe(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{Filters: []types.Filter{
		{Name: aws.String("tag:" + awsx.OwnerTag), Values: []string{owner.UID}},
		{Name: aws.String("tag:" + awsx.RoleTag), Values: []string{owner.Role}},
	}})
	if err != nil {
		return nil, fmt.Errorf("looking for endpoint services of %s: %w", owner.UID, err)
	}
	return slices.DeleteFunc(found, func(svc Service) bool { return ownerIn(svc.tags) != owner }), nil
}
