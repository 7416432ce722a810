package aws

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deleteRecorded deletes the endpoint service once the customer's half is gone.
// Until then it must stay: AWS refuses to delete a service in use, and cutting
// the endpoint off would race the control-plane-operator, which deletes it.
func (r *Reconciler) deleteRecorded(ctx context.Context, s *scope) (err error) {
	if slices.Contains(s.es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) {
		return reconcile.Wait(0, hyperv1.DeletingReason, "waiting for the VPC endpoint %sto be deleted first", spaced(s.es.Status.EndpointID))
	}
	if s.record, err = r.recorded(ctx, s); err != nil || len(s.record.Owners) == 0 {
		return err // no resource is created before its owner is recorded
	}
	if err := r.checkLocation(ctx, s.record.Location); err != nil {
		return err
	}
	if err := r.ledger.Delete(ctx, s, r.service); err != nil {
		return err
	}
	return r.ledger.AwaitConsistency(ctx, s)
}

func (r *Reconciler) deleteEndpointService(ctx context.Context, s *scope, _ ledger.Deletion) (found bool, err error) {
	var remaining endpointservice.Remaining
	if isShared(s.es) {
		remaining, err = r.leaveShared(ctx, s)
	} else {
		remaining, err = r.deleteAll(ctx, s, s.record.Owners)
	}
	switch {
	case err != nil:
	case len(remaining.Endpoints) > 0:
		err = reconcile.Wait(minInterval, hyperv1.DeletingReason, "endpoints %s were still connected and have been rejected", strings.Join(remaining.Endpoints, ", "))
	case len(remaining.Deleting) > 0:
		err = reconcile.Wait(minInterval, hyperv1.DeletingReason, "AWS is deleting endpoint service %s", strings.Join(remaining.Deleting, ", "))
	}
	return remaining.Found != "", err
}

// deleteAll deletes the service for every control plane that the namespace had: a control plane that
// was created again has another UID, and may come before the objects of the old one are gone.
func (r *Reconciler) deleteAll(ctx context.Context, s *scope, owners []string) (endpointservice.Remaining, error) {
	var all endpointservice.Remaining
	var errs []error
	for _, uid := range owners {
		remaining, err := r.Services.Delete(ctx, endpointservice.Deletion{
			Owner:             endpointservice.Owner{UID: uid, Role: serviceRole(s.es)},
			RejectConnections: true, // whoever should have deleted its endpoint has done so or never will
		})
		all.Found = cmp.Or(all.Found, remaining.Found)
		all.Deleting = append(all.Deleting, remaining.Deleting...)
		all.Endpoints = append(all.Endpoints, remaining.Endpoints...)
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

func spaced(id string) string {
	if id == "" {
		return ""
	}
	return id + " "
}
