package workersecuritygroup

import (
	"context"
	"errors"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// role is the value of the role tag of the group.
const role = "default-worker"

func isOurs(tag string) bool { return tag == role }

// ensureGroup finds or creates the group, and repairs what differs.
func (r *Reconciler) ensureGroup(ctx context.Context, s *scope) error {
	rules, err := rules(s.hcp.Spec.Networking.MachineNetwork)
	if err != nil {
		return err
	}
	infraID, record := s.hcp.Spec.InfraID, s.hcp.Status.WorkerSecurityGroup
	name := infraID + "-default-sg"
	tags := awsx.OwnedTags(s.userTags(), string(s.hcp.UID), role, infraID, name)
	id, err := s.groups.Ensure(ctx, securitygroup.Spec{
		Role:        role,
		Name:        name,
		Description: "Workers of " + infraID,
		VPC:         record.VPC,
		Rules:       rules,
		Leave:       ofLoadBalancers,
		Tags:        tags,
		StaleTags:   tags.Stale(record.TagKeys),
		Hooks:       r.hooks(s),
	})
	if id != "" {
		record.Creating = false
		s.publish(id)
	}
	var taken *securitygroup.TakenError
	if errors.As(err, &taken) {
		return reconcile.Wait(time.Minute, hyperv1.SecurityGroupNameTakenReason, "%s", taken)
	}
	if err != nil {
		return err
	}
	record.TagKeys = s.userTags().Keys()
	return nil
}

func (s *scope) publish(id string) {
	s.hcp.Status.Platform = nil
	if id != "" {
		s.hcp.Status.Platform = &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: id}}
	}
}

// published is the id in the status.
func (s *scope) published() string {
	if p := s.hcp.Status.Platform; p != nil && p.AWS != nil {
		return p.AWS.DefaultWorkerSecurityGroupID
	}
	return ""
}
