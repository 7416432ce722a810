package workersecuritygroup

import (
	"context"
	"maps"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/owned"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkPlatform says whether it is known where the workers are.
func (r *Reconciler) checkPlatform(_ context.Context, s *scope) error {
	if config := s.hcp.Spec.Platform.AWS.CloudProviderConfig; config == nil || config.VPC == "" {
		return reconcile.Block(hyperv1.VPCNotNamedReason, "the HostedCluster names no VPC for its workers: set platform.aws.cloudProviderConfig.vpc")
	}
	return nil
}

// record writes down, before anything is made, what deleting it will need.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	if err := s.status.AddFinalizer(ctx, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return err
	}
	aws := s.hcp.Spec.Platform.AWS
	is := &hyperv1.WorkerSecurityGroupRecord{
		Region: aws.Region, VPC: aws.CloudProviderConfig.VPC, IssuerURL: s.hcp.Spec.IssuerURL, RoleARN: string(aws.RolesRef.ControlPlaneOperatorARN),
		TagKeys: s.tagKeys(),
	}
	if was := s.hcp.Status.WorkerSecurityGroup; was != nil {
		is.Creating = was.Creating
		is.TagKeys = slices.Compact(slices.Sorted(slices.Values(slices.Concat(is.TagKeys, was.TagKeys))))
	}
	s.hcp.Status.WorkerSecurityGroup = is
	return s.status.Write(ctx)
}

// witness writes down, before the group is made, that there may be one: its id
// comes only with the answer, which we may not live to hear. What is done to it
// later it tells the user.
func (r *Reconciler) witness(s *scope) owned.Witness {
	return owned.Witness{
		Creating: func(ctx context.Context) error {
			s.hcp.Status.WorkerSecurityGroup.Creating = true
			return s.status.Write(ctx)
		},
		Changed: func(id, what string) { r.tell(s.hcp, resourceChanged, id, what) },
		GivenUp: func(id, what string) { r.tell(s.hcp, changeGivenUp, id, what) },
	}
}

func (s *scope) userTags() awsx.Tags {
	user := awsx.Tags{}
	for _, t := range s.hcp.Spec.Platform.AWS.ResourceTags {
		user[t.Key] = t.Value
	}
	return user
}

func (s *scope) tagKeys() []string { return slices.Sorted(maps.Keys(s.userTags())) }

// staleTags are the keys of tags that the user has taken back: those that were
// written down and are not wanted any more. Others tag our group too.
func (s *scope) staleTags(want awsx.Tags) []string {
	return slices.DeleteFunc(slices.Clone(s.hcp.Status.WorkerSecurityGroup.TagKeys), func(key string) bool {
		_, wanted := want[key]
		return wanted
	})
}
