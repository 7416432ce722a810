package awsemulator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// writes counts calls that change a bucket.
type writes struct {
	registrybucket.API
	n int
}

func (w *writes) PutBucketTagging(ctx context.Context, in *s3.PutBucketTaggingInput, opts ...func(*s3.Options)) (*s3.PutBucketTaggingOutput, error) {
	w.n++
	return w.API.PutBucketTagging(ctx, in, opts...)
}

func (w *writes) PutPublicAccessBlock(ctx context.Context, in *s3.PutPublicAccessBlockInput, opts ...func(*s3.Options)) (*s3.PutPublicAccessBlockOutput, error) {
	w.n++
	return w.API.PutPublicAccessBlock(ctx, in, opts...)
}

func (w *writes) PutBucketEncryption(ctx context.Context, in *s3.PutBucketEncryptionInput, opts ...func(*s3.Options)) (*s3.PutBucketEncryptionOutput, error) {
	w.n++
	return w.API.PutBucketEncryption(ctx, in, opts...)
}

func (w *writes) PutBucketLifecycleConfiguration(ctx context.Context, in *s3.PutBucketLifecycleConfigurationInput, opts ...func(*s3.Options)) (*s3.PutBucketLifecycleConfigurationOutput, error) {
	w.n++
	return w.API.PutBucketLifecycleConfiguration(ctx, in, opts...)
}

func (w *writes) PutBucketPolicy(ctx context.Context, in *s3.PutBucketPolicyInput, opts ...func(*s3.Options)) (*s3.PutBucketPolicyOutput, error) {
	w.n++
	return w.API.PutBucketPolicy(ctx, in, opts...)
}

// The shipped policy permits all calls for the cluster's bucket, also those of the registry, and none for the bucket of another cluster.
func TestPolicyOfTheImageRegistry(t *testing.T) {
	n := newAccount(t)
	const infraID = "mine-abcde"
	policy, err := iam.Fill(iam.ImageRegistry, map[string]string{"IMAGE_REGISTRY_BUCKET_PREFIX": registrybucket.Prefix(infraID)})
	must(t, err)
	role := (&neighbours{account: n}).session(t, "image-registry", policy)
	bucketOf := func(infraID string, api registrybucket.API) *registrybucket.Bucket {
		name := registrybucket.Name(infraID, n.id)
		return registrybucket.New(api, registrybucket.Spec{
			Name: name, Region: "us-east-1", Account: registrybucket.Account{Partition: "aws", ID: n.id}, InfraID: infraID,
			Tags: awsx.OwnedTags(nil, "uid", names.ImageRegistry, infraID, name), Stage: registrybucket.Begun,
			Begin: func(context.Context) error { return nil },
		})
	}
	api := &writes{API: role.s3}
	bucket := bucketOf(infraID, api)
	must(t, bucket.Ensure(t.Context()))
	if api.n == 0 {
		t.Error("nothing was written")
	}
	api.n = 0
	must(t, bucket.Ensure(t.Context()))
	if api.n > 0 {
		t.Errorf("%d writes at rest: a setting is not read as it was written", api.n)
	}

	// These are calls of the registry.
	name, key := aws.String(bucket.Name), aws.String("docker/registry/v2/blobs/1")
	for _, object := range []*string{key, aws.String("docker/registry/v2/blobs/2")} {
		_, err = role.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: name, Key: object, Body: strings.NewReader("layer"), ACL: s3types.ObjectCannedACLBucketOwnerFullControl})
		must(t, err)
	}
	_, err = role.s3.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: name, Key: aws.String("copy"), CopySource: aws.String(bucket.Name + "/" + *key), ACL: s3types.ObjectCannedACLBucketOwnerFullControl})
	must(t, err)
	_, err = role.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: name, Key: key})
	must(t, err)
	_, err = role.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: name})
	must(t, err)
	_, err = role.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: name, Key: key})
	must(t, err)
	upload, err := role.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: name, Key: aws.String("upload"), ACL: s3types.ObjectCannedACLBucketOwnerFullControl})
	must(t, err)
	_, err = role.s3.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: name, Key: aws.String("upload"), UploadId: upload.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("part")})
	must(t, err)
	_, err = role.s3.ListParts(t.Context(), &s3.ListPartsInput{Bucket: name, Key: aws.String("upload"), UploadId: upload.UploadId})
	must(t, err)
	// A user has enabled versioning.
	_, err = n.s3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: name, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}})
	must(t, err)
	for range 3 {
		_, err = role.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: name, Key: key, Body: strings.NewReader("layer")})
		must(t, err)
		_, err = role.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: name, Key: key})
		must(t, err)
	}
	must(t, bucket.Delete(t.Context()))
	must(t, bucket.Delete(t.Context()))
	if _, err := n.s3.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: name}); err == nil {
		t.Error("the bucket exists after its deletion")
	}

	other := bucketOf("other-abcde", role.s3)
	if err := other.Ensure(t.Context()); !awsx.IsDenied(err) {
		t.Errorf("creating the bucket of another cluster: %v", err)
	}
	must(t, bucketOf("other-abcde", n.s3).Ensure(t.Context()))
	if err := other.Delete(t.Context()); !awsx.IsDenied(err) {
		t.Errorf("deleting the bucket of another cluster: %v", err)
	}
	must(t, bucket.Ensure(t.Context()))
	if _, err := role.s3.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: name, Key: aws.String("copy"), CopySource: aws.String(other.Name + "/" + *key)}); !awsx.IsDenied(err) {
		t.Errorf("copying an object of another cluster: %v", err)
	}
	if _, err := role.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &other.Name, Key: key}); !awsx.IsDenied(err) {
		t.Errorf("reading an object of another cluster: %v", err)
	}
}

// S3 has one namespace for the buckets of all accounts.
func TestBucketOfAnotherAccountIsClaimed(t *testing.T) {
	mine, another := newAccount(t), newAccount(t)
	name := registrybucket.Name("claimed", mine.id)
	_, err := another.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
	must(t, err)
	bucket := registrybucket.New(mine.s3, registrybucket.Spec{
		Name: name, Region: "us-east-1", Account: registrybucket.Account{Partition: "aws", ID: mine.id}, InfraID: "claimed", Begin: func(context.Context) error { return nil },
	})
	var claimed *registrybucket.ClaimedError
	if err := bucket.Ensure(t.Context()); !errors.As(err, &claimed) || !claimed.OtherAccount {
		t.Errorf("%v", err)
	}
}
