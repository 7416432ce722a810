package workersecuritygroup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deleteGroup waits until the group is no longer in use: AWS refuses the deletion
// before, and the users of the group are not ours to change.
func (r *Reconciler) deleteGroup(ctx context.Context, s *scope) error {
	if s.groups == nil {
		return nil
	}
	all, err := s.groups.List(ctx)
	if err != nil {
		return err
	}
	id := s.published()
	for _, g := range all {
		if isOurs(g.Tags[awsx.RoleTag]) {
			id = g.ID
			s.hcp.Status.WorkerSecurityGroup.Creating = false
			s.publish(id)
		}
	}
	err = s.groups.Delete(ctx, isOurs, id)
	if awsx.IsInUse(err) {
		return reconcile.Wait(r.backoff(s), hyperv1.SecurityGroupInUseReason, "security group %s is still used by %s", id, r.users(ctx, s, id))
	}
	if err != nil {
		return err
	}
	s.publish("")
	return nil
}

// backoff grows with the time that we have waited: a user of the group is deleted
// within seconds, or when a person deletes it.
func (r *Reconciler) backoff(s *scope) time.Duration {
	var waited time.Duration
	if c := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.AWSDefaultSecurityGroupDeleted); c != nil {
		waited = r.Clock.Since(c.LastTransitionTime.Time)
	}
	return min(max(waited/4, 2*time.Second), 2*time.Minute)
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
	case len(all) > few:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
	}
	return strings.Join(all, ", ")
}

// awaitConsistency does not trust the lists of AWS while they may lack a group: its
// creation was recorded, and its id was neither recorded nor found.
func (r *Reconciler) awaitConsistency(_ context.Context, s *scope) error {
	if s.groups == nil || !s.hcp.Status.WorkerSecurityGroup.Creating {
		return nil
	}
	left := r.window.Remaining(s.hcp.UID)
	if left == 0 {
		return nil
	}
	s.groups.Invalidate(0)
	return reconcile.Wait(left, hyperv1.DeletingReason, "waiting until AWS would list a group that may just have been created")
}

// release removes the finalizer.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	r.window.Forget(s.hcp.UID)
	s.hcp.Status.WorkerSecurityGroup = nil
	return reconcile.RemoveFinalizer(ctx, r.Client, s.hcp, hyperv1.ControlPlaneOperatorFinalizer)
}
