package registrybucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// ErrNotEmpty is returned by Delete if the bucket still has objects after one pass. The next pass continues.
var ErrNotEmpty = errors.New("the bucket is not empty yet")

const (
	// maxBatches bounds the objects that one Delete removes: a batch has up to 1000. A pass must end, so that the controller can stop.
	maxBatches = 20
	// maxUploads bounds the uploads that one Delete aborts, with a call for each.
	maxUploads = 100
)

// Delete empties and deletes the bucket. It returns a ClaimedError for a bucket that is not the cluster's, and ErrNotEmpty if there is more to
// delete.
func (b *Bucket) Delete(ctx context.Context) error {
	tags, err := b.tags(ctx)
	switch {
	case IsNoBucket(err):
		return nil
	case awsx.IsDenied(err) && b.Stage == NotBegun:
		return &ClaimedError{Bucket: b.Name, OtherAccount: true} // a missing permission makes no difference: nothing was created
	case err != nil:
		return err
	case !b.owns(tags):
		return &ClaimedError{Bucket: b.Name}
	}
	for _, step := range []func(context.Context) error{b.abortUploads, b.deleteVersions, b.deleteBucket} {
		err := step(ctx)
		if IsNoBucket(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// abortUploads aborts the unfinished uploads.
func (b *Bucket) abortUploads(ctx context.Context) error {
	out, err := b.api.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID, MaxUploads: aws.Int32(maxUploads)})
	if err != nil {
		return fmt.Errorf("listing the uploads of bucket %s: %w", b.Name, err)
	}
	for _, u := range out.Uploads {
		_, err := b.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.Name, Key: u.Key, UploadId: u.UploadId, ExpectedBucketOwner: &b.Account.ID})
		if err != nil && (IsNoBucket(err) || !awsx.IsNotFound(err)) {
			return fmt.Errorf("aborting the upload of s3://%s/%s: %w", b.Name, aws.ToString(u.Key), err)
		}
	}
	if aws.ToBool(out.IsTruncated) {
		return ErrNotEmpty
	}
	return nil
}

// deleteVersions deletes objects, former versions and delete markers. Each batch is the beginning of the list, without the batches before.
func (b *Bucket) deleteVersions(ctx context.Context) error {
	for range maxBatches {
		page, err := b.api.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
		if err != nil {
			return fmt.Errorf("listing the objects of bucket %s: %w", b.Name, err)
		}
		var batch []types.ObjectIdentifier
		for _, v := range page.Versions {
			batch = append(batch, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			batch = append(batch, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		if len(batch) > 0 {
			if err := b.deleteBatch(ctx, batch); err != nil {
				return err
			}
		}
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
	}
	return ErrNotEmpty
}

func (b *Bucket) deleteBatch(ctx context.Context, batch []types.ObjectIdentifier) error {
	ctrl.LoggerFrom(ctx).Info("Deleting objects of the image registry", "bucket", b.Name, "objects", len(batch))
	out, err := b.api.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID, Delete: &types.Delete{Objects: batch, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("deleting objects of bucket %s: %w", b.Name, err)
	}
	for _, e := range out.Errors { // the first one: the others usually have the same cause
		cause := &smithy.GenericAPIError{Code: aws.ToString(e.Code), Message: aws.ToString(e.Message)}
		return fmt.Errorf("deleting s3://%s/%s: %w", b.Name, aws.ToString(e.Key), cause)
	}
	return nil
}

// deleteBucket deletes the empty bucket. A push may have written an object since.
func (b *Bucket) deleteBucket(ctx context.Context) error {
	ctrl.LoggerFrom(ctx).Info("Deleting the bucket of the image registry", "bucket", b.Name)
	_, err := b.api.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
	if awsx.Code(err) == "BucketNotEmpty" {
		return ErrNotEmpty
	}
	if err != nil {
		return fmt.Errorf("deleting bucket %s: %w", b.Name, err)
	}
	return nil
}
