package workersecuritygroup

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// role is the value of the role tag of the group.
const role = "default-worker"

func isOurs(tag string) bool { return tag == role }

// ensureGroup finds or creates the group, and repairs its drift.
func (r *Reconciler) ensureGroup(ctx context.Context, s *scope, claim ledger.Claim) (ledger.Observed, error) {
	rules, err := rules(s.hcp.Spec.Networking.MachineNetwork)
	if err != nil {
		return ledger.Observed{}, err
	}
	infraID := s.hcp.Spec.InfraID
	name := infraID + "-default-sg"
	tags := awsx.OwnedTags(s.userTags(), string(s.hcp.UID), role, infraID, name)
	id, err := s.groups.Ensure(ctx, securitygroup.Spec{
		Role:        role,
		Name:        name,
		Description: "Workers of " + infraID,
		VPC:         s.hcp.Status.WorkerSecurityGroup.VPC,
		Rules:       rules,
		Leave:       ofLoadBalancers,
		Tags:        tags,
		StaleTags:   tags.Stale(claim.TagKeys),
		Hooks:       claim.Hooks,
	})
	var taken *securitygroup.TakenError
	if errors.As(err, &taken) {
		err = reconcile.Wait(time.Minute, hyperv1.SecurityGroupNameTakenReason, "%s", taken)
	}
	return ledger.Observed{ID: id, Usable: true}, err
}

// inUse is for a group that is still used: a user of the group is deleted within
// seconds, or when a person deletes it.
var inUse = ledger.Backoff{First: 2 * time.Second, Limit: 2 * time.Minute, Share: 0.25}

// deleteGroup waits until the group is no longer in use: AWS refuses the deletion
// before, and the users of the group are not ours to change.
func (r *Reconciler) deleteGroup(ctx context.Context, s *scope, d ledger.Deletion) (found bool, err error) {
	all, err := s.groups.List(ctx)
	if err != nil {
		return false, err
	}
	id := d.ID
	for _, g := range all {
		if isOurs(g.Tags[awsx.RoleTag]) {
			found, id = true, g.ID
			s.publish(id)
		}
	}
	err = s.groups.Delete(ctx, isOurs, id)
	switch {
	case awsx.IsInUse(err):
		return found, reconcile.Wait(r.ledger.Delay(s, inUse), hyperv1.SecurityGroupInUseReason, "security group %s is still used by %s", id, r.users(ctx, s, id))
	case err != nil:
		return found, err
	}
	s.publish("")
	return found, nil
}

// few is how many users of a group a message names.
const few = 5

// users describes the users of a group, which the error of AWS does not name. If
// they cannot be read, it is known at least that there are some.
func (r *Reconciler) users(ctx context.Context, s *scope, id string) string {
	all, err := s.groups.Users(ctx, id)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Info("Cannot read the users of a security group", "group", id, "error", awsx.Message(err))
		return "something that could not be looked up: " + awsx.Message(err)
	case len(all) == 0:
		return "something that AWS does not name"
	}
	return oneline.List(all, few)
}
