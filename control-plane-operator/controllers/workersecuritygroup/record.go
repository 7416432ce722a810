package workersecuritygroup

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

func (r *Reconciler) newLedger() *ledger.Ledger[*scope] {
	return ledger.New(ledger.Options[*scope]{
		Recorder: r.Recorder, Clock: r.Clock,
		Object:     func(s *scope) client.Object { return s.hcp },
		Finalizer:  hyperv1.ControlPlaneOperatorFinalizer,
		Store:      func(s *scope) ledger.Store { return s.status },
		Prepare:    func(s *scope) { s.hcp.Status.WorkerSecurityGroup = recordOf(s.hcp) },
		HasRecord:  func(s *scope) bool { return s.hcp.Status.WorkerSecurityGroup != nil },
		UserTags:   (*scope).userTags,
		TagKeys:    func(s *scope) *[]string { return &s.hcp.Status.WorkerSecurityGroup.TagKeys },
		Open:       r.openSession,
		Invalidate: func(s *scope) { s.groups.Invalidate(0) },
		Released:   func(s *scope) { s.hcp.Status.WorkerSecurityGroup = nil },
		Awaiting:   reconcile.Waiting{Reason: hyperv1.DeletingReason, Message: "waiting until AWS would list a group that may just have been created"},
		Resources: []ledger.Resource[*scope]{{
			Name: "security group", Entry: func(s *scope) ledger.Entry { return entry{s} }, Ensure: r.ensureGroup, Delete: r.deleteGroup,
		}},
	})
}

// recordOf returns the record that deletion will need, with the recorded facts about the group.
func recordOf(hcp *hyperv1.HostedControlPlane) *hyperv1.WorkerSecurityGroupRecord {
	aws := hcp.Spec.Platform.AWS
	record := &hyperv1.WorkerSecurityGroupRecord{
		Region: aws.Region, VPC: aws.CloudProviderConfig.VPC, IssuerURL: hcp.Spec.IssuerURL, RoleARN: string(aws.RolesRef.ControlPlaneOperatorARN),
	}
	if previous := hcp.Status.WorkerSecurityGroup; previous != nil {
		record.Creating, record.TagKeys = previous.Creating, previous.TagKeys
	}
	return record
}

// An entry is in the status: the id where NodePools read it, the intent in the record.
type entry struct{ *scope }

func (e entry) ID() string                { return e.published() }
func (e entry) SetID(id string)           { e.publish(id) }
func (e entry) Creating() bool            { return e.hcp.Status.WorkerSecurityGroup.Creating }
func (e entry) SetCreating(creating bool) { e.hcp.Status.WorkerSecurityGroup.Creating = creating }

// published is the id in the status.
func (s *scope) published() string {
	if p := s.hcp.Status.Platform; p != nil && p.AWS != nil {
		return p.AWS.DefaultWorkerSecurityGroupID
	}
	return ""
}

func (s *scope) publish(id string) {
	s.hcp.Status.Platform = nil
	if id != "" {
		s.hcp.Status.Platform = &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: id}}
	}
}

func (s *scope) userTags() awsx.Tags { return awsx.UserTags(s.hcp.Spec.Platform.AWS.ResourceTags) }

// openSession opens the session of the recorded role: the role of this operator, for a
// shared VPC too. The machines are in its account, and a machine takes groups of
// its own account alone.
func (r *Reconciler) openSession(ctx context.Context, s *scope) error {
	record := s.hcp.Status.WorkerSecurityGroup
	session, err := tokensigner.Session(ctx, r.KeyReady, r.Sessions, identity.Target{Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN})
	if err != nil {
		return err
	}
	s.groups = securitygroup.Shared(session, r.Clock, string(s.hcp.UID), record.VPC)
	age := awsx.WorkerSecurityGroupTTL(r.ResyncPeriod)
	if s.deleting() {
		age = awsx.DeletionListTTL
	}
	s.groups.Invalidate(age)
	return nil
}

// untilRefresh is the time until the last list, of any controller, is too old.
func (r *Reconciler) untilRefresh(s *scope) time.Duration {
	return max(awsx.WorkerSecurityGroupTTL(r.ResyncPeriod)-s.groups.Age(), time.Second)
}
