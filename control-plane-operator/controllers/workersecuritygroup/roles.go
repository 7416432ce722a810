package workersecuritygroup

import (
	"context"
	"errors"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// late is how much longer than a resync period we go without a look. The
	// endpoints' controller adds up to a fifth to it, so that where there are
	// endpoints it has always looked before.
	late = 1.25
	// deletionTrust: what others have changed since the last look shows in the
	// answer to our deletion, and is looked at then.
	deletionTrust = 10 * time.Minute
)

// openSession takes on the role of the cluster.
func (r *Reconciler) openSession(ctx context.Context, s *scope) error {
	if err := r.open(ctx, s); err != nil {
		return err
	}
	s.groups.Look(r.oldest())
	return nil
}

// openSessionOfRecord takes on the role that was recorded before the group was
// made. Without a record nothing was.
func (r *Reconciler) openSessionOfRecord(ctx context.Context, s *scope) error {
	if s.hcp.Status.WorkerSecurityGroup == nil {
		return nil
	}
	if err := r.open(ctx, s); err != nil {
		return err
	}
	s.groups.Look(deletionTrust)
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
	known, err := r.Sessions.For(ctx, session.Target{Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN})
	if err != nil {
		return err
	}
	s.groups = known.Groups(string(s.hcp.UID), record.VPC)
	return nil
}

// oldest is how old a look may be and still be compared with.
func (r *Reconciler) oldest() time.Duration { return time.Duration(late * float64(r.ResyncPeriod)) }

// untilLook is how long until the last look, whoever made it, is too old.
func (r *Reconciler) untilLook(s *scope) time.Duration {
	return max(r.oldest()-s.groups.Age(), time.Second)
}
