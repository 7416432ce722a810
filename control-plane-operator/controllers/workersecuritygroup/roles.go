package workersecuritygroup

import (
	"context"
	"errors"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// openSession opens the session of the cluster's role.
func (r *Reconciler) openSession(ctx context.Context, s *scope) error {
	if err := r.open(ctx, s); err != nil {
		return err
	}
	s.groups.Invalidate(awsx.WorkerSecurityGroupTTL(r.ResyncPeriod))
	return nil
}

// openSessionOfRecord opens the session of the role that was recorded before the
// group was created. Without a record there is none.
func (r *Reconciler) openSessionOfRecord(ctx context.Context, s *scope) error {
	if s.hcp.Status.WorkerSecurityGroup == nil {
		return nil
	}
	if err := r.open(ctx, s); err != nil {
		return err
	}
	s.groups.Invalidate(awsx.DeletionListTTL)
	return nil
}

// open uses the role of this operator for a shared VPC too: the machines are in
// its account, and a machine takes groups of its own account alone.
func (r *Reconciler) open(ctx context.Context, s *scope) error {
	err := r.KeyReady(ctx)
	if errors.Is(err, tokensigner.ErrNoKey) {
		return reconcile.Wait(10*time.Second, hyperv1.WaitingForSigningKeyReason, "%s", err)
	}
	if err != nil {
		return err
	}
	record := s.hcp.Status.WorkerSecurityGroup
	session, err := r.Sessions.For(ctx, identity.Target{Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN})
	if err != nil {
		return err
	}
	s.groups = securitygroup.Shared(session, r.Clock, string(s.hcp.UID), record.VPC)
	return nil
}

// untilRefresh is the time until the last list, of any controller, is too old.
func (r *Reconciler) untilRefresh(s *scope) time.Duration {
	return max(awsx.WorkerSecurityGroupTTL(r.ResyncPeriod)-s.groups.Age(), time.Second)
}
