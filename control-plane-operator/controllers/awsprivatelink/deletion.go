package awsprivatelink

import (
	"context"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deleteRecords is first: a name without a target is worse than no name.
func (r *Reconciler) deleteRecords(ctx context.Context, s *scope) error {
	// The zone is recorded before the first record is made in it.
	if s.account == nil || s.es.Status.DNSZoneID == "" {
		return nil
	}
	// All names that this object can have had: the process may have died before it
	// recorded them.
	hcp := s.cleanup.HostedControlPlane
	return s.account.recordsIn(s.es.Status.DNSZoneID).Delete(ctx, []string{names.LocalAPI(hcp), names.LocalApps(hcp)}, s.ofAnother)
}

// deleteEndpoint waits until the endpoint is gone, because its network
// interfaces keep security group and subnets until then.
func (r *Reconciler) deleteEndpoint(ctx context.Context, s *scope) error {
	if s.account == nil {
		return nil
	}
	return r.endpointsGone(ctx, s, s.role())
}

func (r *Reconciler) endpointsGone(ctx context.Context, s *scope, role string) error {
	r.refresh(s)
	all, err := s.account.endpoints.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Tags[awsx.RoleTag] == s.role() && !e.State.Leaving() && e.ID != s.es.Status.EndpointID {
			s.made(hyperv1.VPCEndpointResource) // and never recorded
		}
	}
	left, err := s.account.endpoints.Delete(ctx, role, s.es.Status.EndpointID)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return reconcile.Wait(r.untilRefresh(s, leaving), hyperv1.EndpointDeletingReason, "waiting until AWS has deleted %s", ids(left))
	}
	return nil
}

func ids(list []endpoint.Endpoint) string {
	var out []string
	for _, e := range list {
		out = append(out, "VPC endpoint "+e.ID)
	}
	return strings.Join(out, ", ")
}

func (r *Reconciler) deleteSecurityGroup(ctx context.Context, s *scope) error {
	if s.account == nil {
		return nil
	}
	return r.groupsGone(ctx, s, func(role string) bool { return role == s.role() })
}

func (r *Reconciler) groupsGone(ctx context.Context, s *scope, doomed func(role string) bool) error {
	all, err := s.account.groups.List(ctx)
	if err != nil {
		return err
	}
	for _, g := range all {
		if g.Tags[awsx.RoleTag] == s.role() {
			s.made(hyperv1.SecurityGroupResource) // there is no other: its name is unique
		}
	}
	err = s.account.groups.Delete(ctx, doomed, s.es.Status.SecurityGroupID)
	if awsx.IsInUse(err) {
		return reconcile.Wait(r.backoff.next(s.es.UID, inUse), hyperv1.SecurityGroupInUseReason, "security group %s is still in use: %s", s.es.Status.SecurityGroupID, awsx.Message(err))
	}
	return err
}

// awaitConsistency does not trust the lists of AWS while they may lack a resource: its
// creation was recorded, and its id was neither recorded nor found.
func (r *Reconciler) awaitConsistency(_ context.Context, s *scope) error {
	if s.account == nil || len(s.es.Status.Creating) == 0 {
		return nil
	}
	left := r.window.Remaining(s.es.UID)
	if left == 0 {
		return nil
	}
	s.account.invalidate(0)
	return reconcile.Wait(left, hyperv1.EndpointDeletingReason, "waiting until AWS would list a resource that may just have been created")
}

// sweep deletes, with the last AWSEndpointService of the cluster, all other
// resources with the cluster's tag for an endpoint, of objects that were lost.
func (r *Reconciler) sweep(ctx context.Context, s *scope) error {
	if s.account == nil {
		return nil
	}
	list := &hyperv1.AWSEndpointServiceList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.es.Namespace)); err != nil {
		return fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	for _, other := range list.Items {
		if other.UID != s.es.UID {
			return nil
		}
	}
	if err := r.endpointsGone(ctx, s, ""); err != nil {
		return err
	}
	return r.groupsGone(ctx, s, isEndpointRole)
}

// release removes the finalizer.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	r.backoff.reset(s.es.UID)
	r.window.Forget(s.es.UID)
	s.es.Status.EndpointID, s.es.Status.SecurityGroupID, s.es.Status.DNSNames = "", "", nil
	s.es.Status.Creating = nil
	ctrl.LoggerFrom(ctx).Info("Nothing is left in the customer's account")
	return reconcile.RemoveFinalizer(ctx, r.Client, s.es, hyperv1.ControlPlaneOperatorFinalizer)
}
