package registrybucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// API is the part of S3 that this package uses.
type API interface {
	CreateBucket(context.Context, *s3.CreateBucketInput, ...func(*s3.Options)) (*s3.CreateBucketOutput, error)
	DeleteBucket(context.Context, *s3.DeleteBucketInput, ...func(*s3.Options)) (*s3.DeleteBucketOutput, error)
	GetBucketTagging(context.Context, *s3.GetBucketTaggingInput, ...func(*s3.Options)) (*s3.GetBucketTaggingOutput, error)
	PutBucketTagging(context.Context, *s3.PutBucketTaggingInput, ...func(*s3.Options)) (*s3.PutBucketTaggingOutput, error)
	GetPublicAccessBlock(context.Context, *s3.GetPublicAccessBlockInput, ...func(*s3.Options)) (*s3.GetPublicAccessBlockOutput, error)
	PutPublicAccessBlock(context.Context, *s3.PutPublicAccessBlockInput, ...func(*s3.Options)) (*s3.PutPublicAccessBlockOutput, error)
	GetBucketEncryption(context.Context, *s3.GetBucketEncryptionInput, ...func(*s3.Options)) (*s3.GetBucketEncryptionOutput, error)
	PutBucketEncryption(context.Context, *s3.PutBucketEncryptionInput, ...func(*s3.Options)) (*s3.PutBucketEncryptionOutput, error)
	GetBucketLifecycleConfiguration(context.Context, *s3.GetBucketLifecycleConfigurationInput, ...func(*s3.Options)) (*s3.GetBucketLifecycleConfigurationOutput, error)
	PutBucketLifecycleConfiguration(context.Context, *s3.PutBucketLifecycleConfigurationInput, ...func(*s3.Options)) (*s3.PutBucketLifecycleConfigurationOutput, error)
	GetBucketPolicy(context.Context, *s3.GetBucketPolicyInput, ...func(*s3.Options)) (*s3.GetBucketPolicyOutput, error)
	PutBucketPolicy(context.Context, *s3.PutBucketPolicyInput, ...func(*s3.Options)) (*s3.PutBucketPolicyOutput, error)
	ListMultipartUploads(context.Context, *s3.ListMultipartUploadsInput, ...func(*s3.Options)) (*s3.ListMultipartUploadsOutput, error)
	AbortMultipartUpload(context.Context, *s3.AbortMultipartUploadInput, ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
	ListObjectVersions(context.Context, *s3.ListObjectVersionsInput, ...func(*s3.Options)) (*s3.ListObjectVersionsOutput, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

// NewClient returns a client for buckets in the region of cfg.
func NewClient(cfg aws.Config) API { return s3.NewFromConfig(cfg) }

// An Account is where a bucket is.
type Account struct{ Partition, ID string }

// AccountOf returns the account of a role.
func AccountOf(roleARN string) (Account, error) {
	role, err := arn.Parse(roleARN)
	if err != nil || role.AccountID == "" {
		return Account{}, fmt.Errorf("%q is not the ARN of a role", roleARN)
	}
	return Account{Partition: role.Partition, ID: role.AccountID}, nil
}

// A Stage is the recorded progress of a bucket.
type Stage int

// The stages.
const (
	// NotBegun: a bucket without the cluster's tag is not the cluster's.
	NotBegun Stage = iota
	// Begun: the creation was recorded, and may have happened. A bucket without tags is the cluster's.
	Begun
	// Complete: the bucket has had all its settings.
	Complete
)

// Spec describes a bucket.
type Spec struct {
	Name, Region string
	// Account must own the bucket.
	Account Account
	InfraID string
	// Tags are on the bucket, the tag of the cluster among them. Deletion does not need them.
	Tags  awsx.Tags
	Stage Stage
	// Begin records the stage Begun, before the bucket is created or changed for the first time. Deletion does not need it.
	Begin func(context.Context) error
}

// A Bucket is the bucket of a cluster's image registry.
type Bucket struct {
	Spec
	api API
}

// New returns the bucket. The api is that of the region of the bucket.
func New(api API, spec Spec) *Bucket { return &Bucket{Spec: spec, api: api} }

// A ClaimedError is returned for a bucket that is not the cluster's.
type ClaimedError struct {
	Bucket string
	// OtherAccount is true for a bucket of another account, and false for a bucket without the tag of the cluster.
	OtherAccount bool
}

func (e *ClaimedError) Error() string {
	if e.OtherAccount {
		return "bucket " + e.Bucket + " belongs to another account"
	}
	return "bucket " + e.Bucket + " does not have the tag of this cluster"
}

// IsNoBucket is true if the bucket itself does not exist.
func IsNoBucket(err error) bool { return awsx.Code(err) == "NoSuchBucket" }

// Ensure creates the bucket, and repairs its settings. It returns a ClaimedError for a bucket that is not the cluster's.
func (b *Bucket) Ensure(ctx context.Context) error {
	tags, err := b.tags(ctx)
	switch {
	case IsNoBucket(err):
		tags, err = b.create(ctx)
	case awsx.IsDenied(err) && b.Stage != Complete:
		err = b.examine(ctx, err)
	}
	if err != nil {
		return err
	}
	if !b.owns(tags) {
		return &ClaimedError{Bucket: b.Name}
	}
	if err := b.begin(ctx); err != nil {
		return err
	}
	if missing := b.Tags.Missing(tags); missing != nil {
		if err := b.tag(ctx, tags, missing); err != nil {
			return err
		}
	}
	for _, ensure := range []func(context.Context) error{b.ensurePublicAccessBlock, b.ensureEncryption, b.ensureLifecycle, b.ensurePolicy} {
		if err := ensure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether the bucket with the tags is the cluster's.
func (b *Bucket) owns(tags awsx.Tags) bool {
	return tags[names.ClusterTag(b.InfraID)] == names.ClusterTagValue || b.Stage != NotBegun && len(tags) == 0
}

// begin records that the bucket may be the cluster's although it has no tags.
func (b *Bucket) begin(ctx context.Context) error {
	if b.Stage != NotBegun {
		return nil
	}
	if err := b.Begin(ctx); err != nil {
		return err
	}
	b.Stage = Begun
	return nil
}

// create creates the bucket and returns its tags: another process of the cluster may have created it meanwhile.
func (b *Bucket) create(ctx context.Context) (awsx.Tags, error) {
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	ctrl.LoggerFrom(ctx).Info("Creating the bucket of the image registry", "bucket", b.Name)
	if err := b.requestCreation(ctx); err != nil {
		return nil, err
	}
	tags, err := b.tags(ctx)
	if IsNoBucket(err) {
		return awsx.Tags{}, nil // not visible yet
	}
	return tags, err
}

// requestCreation creates the bucket. A bucket that the account has already is no error.
func (b *Bucket) requestCreation(ctx context.Context) error {
	in := &s3.CreateBucketInput{Bucket: &b.Name}
	if b.Region != "us-east-1" { // S3 refuses this one
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.Region)}
	}
	_, err := b.api.CreateBucket(ctx, in)
	switch code := awsx.Code(err); {
	case code == "BucketAlreadyExists":
		return &ClaimedError{Bucket: b.Name, OtherAccount: true}
	case err != nil && code != "BucketAlreadyOwnedByYou":
		return fmt.Errorf("creating bucket %s: %w", b.Name, err)
	}
	return nil
}

// examine finds out why the tags cannot be read: S3 returns the same error for a missing permission as for a bucket of another account. Only the
// creation distinguishes them.
func (b *Bucket) examine(ctx context.Context, denied error) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	var claimed *ClaimedError
	if err := b.requestCreation(ctx); errors.As(err, &claimed) {
		return err
	}
	return denied
}

// tags returns the tags of the bucket.
func (b *Bucket) tags(ctx context.Context) (awsx.Tags, error) {
	out, err := b.api.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
	if awsx.Code(err) == "NoSuchTagSet" {
		return awsx.Tags{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tags of bucket %s: %w", b.Name, err)
	}
	tags := awsx.Tags{}
	for _, t := range out.TagSet {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}
