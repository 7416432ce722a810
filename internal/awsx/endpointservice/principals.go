package endpointservice

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// ensurePrincipals allows exactly the principals of a spec, and returns those that were missing.
func (s *Services) ensurePrincipals(ctx context.Context, id string, spec Spec) (added []string, err error) {
	current, err := s.allowed(ctx, id)
	if err != nil {
		return nil, err
	}
	in := &ec2.ModifyVpcEndpointServicePermissionsInput{
		ServiceId:               aws.String(id),
		AddAllowedPrincipals:    s.withoutRefused(minus(spec.Principals, current), spec),
		RemoveAllowedPrincipals: minus(current, spec.Principals),
	}
	if in.AddAllowedPrincipals == nil && in.RemoveAllowedPrincipals == nil {
		return nil, nil
	}
	ctrl.LoggerFrom(ctx).Info("Changing who may connect to endpoint service", "service", id, "add", in.AddAllowedPrincipals, "remove", in.RemoveAllowedPrincipals)
	_, err = s.api.ModifyVpcEndpointServicePermissions(ctx, in)
	if awsx.IsInvalid(err) && in.AddAllowedPrincipals != nil {
		return nil, s.changeOneByOne(ctx, in, spec, current)
	}
	if err != nil {
		return nil, fmt.Errorf("changing who may connect to endpoint service %s: %w", id, err)
	}
	s.accept(in.AddAllowedPrincipals)
	s.putPrincipals(id, minus(slices.Concat(current, in.AddAllowedPrincipals), in.RemoveAllowedPrincipals))
	return in.AddAllowedPrincipals, nil
}

// changeOneByOne adds the principals that AWS accepts, and reports the others. A
// call succeeds or fails as a whole: one role that does not exist would keep all from
// connecting, and AWS does not always name it.
func (s *Services) changeOneByOne(ctx context.Context, in *ec2.ModifyVpcEndpointServicePermissionsInput, spec Spec, current []string) error {
	var errs []error
	id, allowed := aws.ToString(in.ServiceId), slices.Clone(current)
	for _, p := range in.AddAllowedPrincipals {
		_, err := s.api.ModifyVpcEndpointServicePermissions(ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: in.ServiceId, AddAllowedPrincipals: []string{p}})
		switch {
		case err == nil:
			s.accept([]string{p})
			allowed = append(allowed, p)
		case awsx.IsInvalid(err) && slices.Contains(spec.Optional, p):
			ctrl.LoggerFrom(ctx).Error(err, "AWS refuses a principal", "service", id, "principal", p)
			s.refuse(p)
		default:
			errs = append(errs, fmt.Errorf("letting principal %s connect to endpoint service %s: %w", p, id, err))
		}
	}
	if in.RemoveAllowedPrincipals != nil {
		_, err := s.api.ModifyVpcEndpointServicePermissions(ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: in.ServiceId, RemoveAllowedPrincipals: in.RemoveAllowedPrincipals})
		if err != nil {
			errs = append(errs, fmt.Errorf("taking principals from endpoint service %s: %w", id, err))
		}
		allowed = minus(allowed, in.RemoveAllowedPrincipals)
	}
	if len(errs) == 0 {
		s.putPrincipals(id, allowed)
	}
	return errors.Join(errs...)
}

// refuse remembers that AWS refuses a principal.
func (s *Services) refuse(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[principal] = s.clock.Now().Add(s.opts.PrincipalsTTL)
}

// accept forgets that AWS has refused principals.
func (s *Services) accept(principals []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range principals {
		delete(s.refused, p)
	}
}

// withoutRefused returns principals without those that are optional, and that AWS has refused lately.
func (s *Services) withoutRefused(principals []string, spec Spec) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.refused, func(_ string, until time.Time) bool { return now.After(until) })
	left := slices.DeleteFunc(slices.Clone(principals), func(p string) bool {
		_, refused := s.refused[p]
		return refused && slices.Contains(spec.Optional, p)
	})
	if len(left) == 0 {
		return nil
	}
	return left
}

// allowed returns the principals that may connect.
func (s *Services) allowed(ctx context.Context, id string) ([]string, error) {
	return s.principals.Get(ctx, id, func(ctx context.Context) ([]string, time.Duration, error) {
		principals, err := s.readPrincipals(ctx, id)
		return principals, s.principalsTTL(id), err
	})
}

func (s *Services) readPrincipals(ctx context.Context, id string) ([]string, error) {
	var principals []string
	pages := ec2.NewDescribeVpcEndpointServicePermissionsPaginator(s.api, &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: aws.String(id)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading who may connect to endpoint service %s: %w", id, err)
		}
		for _, p := range page.AllowedPrincipals {
			principals = append(principals, aws.ToString(p.Principal))
		}
	}
	return principals, nil
}

func (s *Services) putPrincipals(id string, principals []string) {
	s.principals.Put(id, slices.Clone(principals), s.principalsTTL(id))
}

// principalsTTL spreads the reads of many services over a quarter of the lifetime.
func (s *Services) principalsTTL(id string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(id))
	return s.opts.PrincipalsTTL + s.opts.PrincipalsTTL/4*time.Duration(h.Sum32()%256)/256
}
