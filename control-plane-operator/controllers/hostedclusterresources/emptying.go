package hostedclusterresources

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/cloudcleanup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func findCloudResources(ctx context.Context, s *scope) (err error) {
	s.cloud, err = cloudcleanup.Find(ctx, s.cluster.Client, s.hcp)
	return err
}

// reportFirst is the time for the hypershift-operator to act on the report that no cloud resource remains.
const reportFirst = time.Second

// unhurried runs a step that keeps the hosted cluster from creating cloud resources. A cluster without cloud resources does not
// wait for it: the empty report comes first. If the HostedControlPlane stays, because machines are being deleted, the step runs
// then, and later reconciles find the resources that were created in between.
func unhurried(run func(context.Context, *scope) error) func(context.Context, *scope) error {
	return func(ctx context.Context, s *scope) error {
		switch {
		case s.cloud == nil || !s.cloud.Empty():
			return run(ctx, s)
		case s.unprotected:
			return nil
		case !meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed):
			s.unprotected = true
			s.requeueAfter(reportFirst)
			return nil
		}
		err := run(ctx, s)
		var wait *reconcile.Waiting
		if !errors.As(err, &wait) {
			return err
		}
		s.unprotected = true
		s.requeueAfter(wait.After)
		return nil
	}
}

func blockCreation(ctx context.Context, s *scope) error {
	after, err := cloudcleanup.BlockCreation(ctx, s.objects)
	s.requeueAfter(after)
	return err
}

// removeCloudResources deletes the objects of cloud resources, and waits until their controllers have deleted the
// resources. It does not wait for controllers that do not run.
func (r *Reconciler) removeCloudResources(ctx context.Context, s *scope) error {
	if s.cloud == nil {
		if err := findCloudResources(ctx, s); err != nil {
			return err
		}
		if s.cloud == nil {
			return reconcile.Unknown(cloudcleanup.Interval, hyperv1.WaitingForPermissionsReason, "waiting for the permission to list cloud resources")
		}
	}
	s.hcp.Status.RemainingCloudResources = nil
	remaining, err := s.cloud.Remove(ctx, s.cluster.Client, r.Clock.Now())
	if err != nil {
		return err
	}
	s.hcp.Status.RemainingCloudResources = remaining.Resources
	return remaining.Wait()
}
