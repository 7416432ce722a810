package workersecuritygroup

import (
	"context"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkPlatform checks that the VPC of the workers is known.
func (r *Reconciler) checkPlatform(_ context.Context, s *scope) error {
	if config := s.hcp.Spec.Platform.AWS.CloudProviderConfig; config == nil || config.VPC == "" {
		return reconcile.Block(hyperv1.VPCNotNamedReason, "the HostedCluster names no VPC for its workers: set platform.aws.cloudProviderConfig.vpc")
	}
	return nil
}

// record records, before anything is created, what its deletion will need.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	if err := s.status.AddFinalizer(ctx, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return err
	}
	aws := s.hcp.Spec.Platform.AWS
	is := &hyperv1.WorkerSecurityGroupRecord{
		Region: aws.Region, VPC: aws.CloudProviderConfig.VPC, IssuerURL: s.hcp.Spec.IssuerURL, RoleARN: string(aws.RolesRef.ControlPlaneOperatorARN),
		TagKeys: s.userTags().Keys(),
	}
	if was := s.hcp.Status.WorkerSecurityGroup; was != nil {
		is.Creating = was.Creating
		is.TagKeys = slices.Compact(slices.Sorted(slices.Values(slices.Concat(is.TagKeys, was.TagKeys))))
	}
	s.hcp.Status.WorkerSecurityGroup = is
	return s.status.Write(ctx)
}

// hooks record that the group is being created before the call that creates it:
// the id is in the answer, and the process may die before it. Later changes of
// the group become events.
func (r *Reconciler) hooks(s *scope) awsx.Hooks {
	return awsx.Hooks{
		BeforeCreate: func(ctx context.Context) error {
			s.hcp.Status.WorkerSecurityGroup.Creating = true
			return s.status.Write(ctx)
		},
		OnChange: func(id, what string) { r.tell(s.hcp, resourceChanged, id, what) },
		OnSkip:   func(id, what string) { r.tell(s.hcp, changeGivenUp, id, what) },
	}
}

func (s *scope) userTags() awsx.Tags { return awsx.UserTags(s.hcp.Spec.Platform.AWS.ResourceTags) }
