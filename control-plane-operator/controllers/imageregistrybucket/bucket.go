package imageregistrybucket

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// findTarget finds out which bucket the cluster is to have. A bucket that is recorded keeps its name and region, whatever the spec has now.
func (r *Reconciler) findTarget(_ context.Context, s *scope) error {
	aws := s.hcp.Spec.Platform.AWS
	if aws.RolesRef.ImageRegistryARN == "" {
		return reconcile.Block(hyperv1.NoImageRegistryRoleReason, "set platform.aws.rolesRef.imageRegistryARN: the image registry has no role for its bucket")
	}
	s.want = hyperv1.ImageRegistryRecord{
		Bucket: registrybucket.Name(s.hcp.Spec.InfraID, s.hcp.Spec.ClusterID), Region: aws.Region,
		IssuerURL: s.hcp.Spec.IssuerURL, RoleARN: string(aws.RolesRef.ImageRegistryARN),
	}
	if recorded := s.hcp.Status.ImageRegistry; recorded != nil {
		s.want.Bucket, s.want.Region, s.want.Ready = recorded.Bucket, recorded.Region, recorded.Ready
	}
	return nil
}

// record writes what deletion needs before the bucket is created.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	s.hcp.Status.ImageRegistry = s.want.DeepCopy()
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	return s.status.AddFinalizer(ctx, hyperv1.ImageRegistryFinalizer)
}

// ensureBucket creates the bucket, or repairs its settings.
func (r *Reconciler) ensureBucket(ctx context.Context, s *scope) error {
	record := s.hcp.Status.ImageRegistry
	recorded := record.Ready
	bucket, err := s.bucket()
	if err != nil {
		return err
	}
	bucket.Begin = func(ctx context.Context) error {
		record.Ready = ptr.To(false)
		return s.status.Write(ctx)
	}
	err = bucket.Ensure(ctx)
	var claimed *registrybucket.ClaimedError
	switch {
	case errors.As(err, &claimed):
		record.Ready = recorded // this pass has created nothing
		return reconcile.Wait(claimedInterval, hyperv1.BucketClaimedReason, "%v: delete it, or remove ImageRegistry from capabilities", claimed)
	case err != nil:
		return err
	}
	record.Ready = ptr.To(true)
	return nil
}

// claimedInterval is how often a bucket that is not the cluster's is read. There is no event after its deletion.
const claimedInterval = 5 * time.Minute

// bucket returns the recorded bucket.
func (s *scope) bucket() (*registrybucket.Bucket, error) {
	record := s.hcp.Status.ImageRegistry
	account, err := registrybucket.AccountOf(record.RoleARN)
	if err != nil {
		return nil, reconcile.Block(hyperv1.NoImageRegistryRoleReason, "platform.aws.rolesRef.imageRegistryARN: %v", err)
	}
	spec := registrybucket.Spec{Name: record.Bucket, Region: record.Region, Account: account, InfraID: s.hcp.Spec.InfraID, Stage: stageOf(record)}
	if aws := s.hcp.Spec.Platform.AWS; aws != nil {
		spec.Tags = awsx.OwnedTags(awsx.UserTags(aws.ResourceTags), string(s.hcp.UID), names.ImageRegistry, spec.InfraID, spec.Name)
	}
	return registrybucket.New(registrybucket.NewClient(s.session.Config), spec), nil
}

func stageOf(record *hyperv1.ImageRegistryRecord) registrybucket.Stage {
	switch {
	case record.Ready == nil:
		return registrybucket.NotBegun
	case *record.Ready:
		return registrybucket.Complete
	}
	return registrybucket.Begun
}

// emptyingInterval is how soon the next pass continues to empty the bucket.
const emptyingInterval = time.Second

// deleteBucket empties and deletes the bucket. A bucket that is not the cluster's stays.
func (r *Reconciler) deleteBucket(ctx context.Context, s *scope) error {
	record := s.hcp.Status.ImageRegistry
	if record == nil {
		return nil
	}
	bucket, err := s.bucket()
	if err != nil {
		return err
	}
	err = bucket.Delete(ctx)
	var claimed *registrybucket.ClaimedError
	switch {
	case errors.As(err, &claimed):
		ctrl.LoggerFrom(ctx).Info("Leaving a bucket that is not the cluster's", "bucket", record.Bucket, "why", claimed.Error())
		return nil
	case errors.Is(err, registrybucket.ErrNotEmpty):
		// Not False: that would be a refusal, after which the bucket is left behind.
		return reconcile.Unknown(emptyingInterval, hyperv1.DeletingReason, "deleting the images in bucket %s", record.Bucket)
	}
	return err
}

// forget removes the record, and then the finalizer.
func (r *Reconciler) forget(ctx context.Context, s *scope) error {
	s.hcp.Status.ImageRegistry = nil
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	return s.status.RemoveFinalizer(ctx, hyperv1.ImageRegistryFinalizer)
}
