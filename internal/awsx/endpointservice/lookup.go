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

// doubt forgets what we believed of an owner's service when AWS answered
// something that does not fit it, or when nobody knows whether a write was
// applied. What we believe of the others stays: a wish that AWS will never
// grant, such as a role that does not exist, comes back again and again.
func (s *Services) doubt(owner Owner, id string, err error) error {
	if awsx.IsThrottled(err) || awsx.IsDenied(err) {
		return err
	}
	s.all.Forget(owner.key())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted[owner] = true
	s.principals.Forget(id)
	return err
}

// believed returns the owner's services as we know them, and asks AWS for
// those that we have doubts about.
func (s *Services) cached(ctx context.Context, owner Owner) ([]Service, error) {
	s.mu.Lock()
	doubted := s.doubted[owner]
	s.mu.Unlock()
	if !doubted {
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
	delete(s.doubted, owner)
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
