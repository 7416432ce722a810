package backupbucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// API is the part of S3 that this package uses.
type API interface {
	CreateMultipartUpload(context.Context, *s3.CreateMultipartUploadInput, ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error)
	ListMultipartUploads(context.Context, *s3.ListMultipartUploadsInput, ...func(*s3.Options)) (*s3.ListMultipartUploadsOutput, error)
	ListParts(context.Context, *s3.ListPartsInput, ...func(*s3.Options)) (*s3.ListPartsOutput, error)
	CompleteMultipartUpload(context.Context, *s3.CompleteMultipartUploadInput, ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error)
	AbortMultipartUpload(context.Context, *s3.AbortMultipartUploadInput, ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

// Presigner signs requests that others send.
type Presigner interface {
	PresignUploadPart(context.Context, *s3.UploadPartInput, ...func(*s3.PresignOptions)) (*v4.PresignedHTTPRequest, error)
	PresignGetObject(context.Context, *s3.GetObjectInput, ...func(*s3.PresignOptions)) (*v4.PresignedHTTPRequest, error)
}

// ChecksumSuffix is the end of the key of the object with a backup's SHA-256 checksum. It has the format of sha256sum.
const ChecksumSuffix = ".sha256"

// ObjectsSuffix is the end of the key of the object with the objects of the cluster, a bundle of package clusterbundle.
const ObjectsSuffix = ".objects"

// metadataOwner is the metadata key of an object for the infraID of its cluster.
const metadataOwner = "hypershift-infra-id"

// Options configure a Bucket.
type Options struct {
	Name string
	// Owner is the account that must own the bucket.
	Owner string
	// KMSKeyARN encrypts the objects. Empty for the bucket's default encryption.
	KMSKeyARN string
}

// A Bucket holds backups.
type Bucket struct {
	Options
	api    API
	signer Presigner
}

// New returns the bucket for a session in the region of the bucket.
func New(cfg aws.Config, o Options) *Bucket {
	client := s3.NewFromConfig(cfg)
	return &Bucket{Options: o, api: client, signer: s3.NewPresignClient(client)}
}

// URL returns the URL of an object of the bucket.
func (b *Bucket) URL(key string) string { return "s3://" + b.Name + "/" + key }

// Begin aborts earlier uploads of an object and returns the id of a new one.
func (b *Bucket) Begin(ctx context.Context, key, infraID string) (id string, err error) {
	if err := b.Abort(ctx, key); err != nil {
		return "", err
	}
	ctrl.LoggerFrom(ctx).Info("Beginning an upload", "bucket", b.Name, "key", key)
	in := &s3.CreateMultipartUploadInput{
		Bucket: &b.Name, Key: &key, ExpectedBucketOwner: &b.Owner, ContentType: aws.String("application/octet-stream"),
		Metadata: map[string]string{metadataOwner: infraID},
	}
	if b.KMSKeyARN != "" {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &b.KMSKeyARN
	}
	out, err := b.api.CreateMultipartUpload(ctx, in)
	if err != nil {
		return "", fmt.Errorf("beginning the upload of %s: %w", b.URL(key), err)
	}
	return aws.ToString(out.UploadId), nil
}

// uploads returns the ids of the unfinished uploads of an object.
func (b *Bucket) uploads(ctx context.Context, key string) (ids []string, err error) {
	pages := s3.NewListMultipartUploadsPaginator(b.api, &s3.ListMultipartUploadsInput{Bucket: &b.Name, Prefix: &key, ExpectedBucketOwner: &b.Owner})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the uploads of %s: %w", b.URL(key), err)
		}
		for _, u := range page.Uploads {
			if aws.ToString(u.Key) == key {
				ids = append(ids, aws.ToString(u.UploadId))
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// PartURLs returns the URLs of the first n parts of an upload. They expire after that time, and with the credentials of the session.
func (b *Bucket) PartURLs(ctx context.Context, key, upload string, n int, expires time.Duration) ([]string, error) {
	urls := make([]string, n)
	for i := range urls {
		signed, err := b.signer.PresignUploadPart(ctx, &s3.UploadPartInput{
			Bucket: &b.Name, Key: &key, UploadId: &upload, PartNumber: aws.Int32(int32(i + 1)),
		}, s3.WithPresignExpires(expires), withoutChecksum)
		if err != nil {
			return nil, fmt.Errorf("signing the upload of %s: %w", b.URL(key), err)
		}
		urls[i] = signed.URL
	}
	return urls, nil
}

// withoutChecksum keeps the checksum of the empty body of the signed request out of its URL.
func withoutChecksum(o *s3.PresignOptions) {
	o.ClientOptions = append(o.ClientOptions, func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})
}

// ObjectURL returns a URL at which the object can be read until it expires.
func (b *Bucket) ObjectURL(ctx context.Context, key string, expires time.Duration) (string, error) {
	signed, err := b.signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &key}, s3.WithPresignExpires(expires))
	if err != nil {
		return "", fmt.Errorf("signing the download of %s: %w", b.URL(key), err)
	}
	return signed.URL, nil
}

// An IncompleteError is returned for an upload that does not have all bytes of the snapshot.
type IncompleteError struct {
	URL       string
	Got, Want int64
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the upload of %s has %d of %d bytes", e.URL, e.Got, e.Want)
}

// Complete makes the uploaded parts an object of that size, and writes its SHA-256 checksum to a second object. It can be repeated.
func (b *Bucket) Complete(ctx context.Context, key string, size int64, checksum string) error {
	stored, err := b.Size(ctx, key)
	if err != nil {
		return err
	}
	if stored != size {
		if err := b.join(ctx, key, size); err != nil {
			return err
		}
		if stored, err = b.Size(ctx, key); err != nil {
			return err
		}
	}
	if stored != size {
		return &IncompleteError{URL: b.URL(key), Got: stored, Want: size}
	}
	text := checksum + "  " + key[strings.LastIndex(key, "/")+1:] + "\n"
	return b.Write(ctx, key+ChecksumSuffix, "text/plain", []byte(text))
}

// join completes the upload of an object of that size.
func (b *Bucket) join(ctx context.Context, key string, size int64) error {
	uploads, err := b.uploads(ctx, key)
	if err != nil {
		return err
	}
	if len(uploads) == 0 {
		return &IncompleteError{URL: b.URL(key), Want: size}
	}
	completed, got, err := b.parts(ctx, key, uploads[0])
	if err != nil {
		return err
	}
	if got != size {
		return &IncompleteError{URL: b.URL(key), Got: got, Want: size}
	}
	ctrl.LoggerFrom(ctx).Info("Completing an upload", "bucket", b.Name, "key", key, "bytes", size)
	_, err = b.api.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.Name, Key: &key, UploadId: &uploads[0], ExpectedBucketOwner: &b.Owner, MultipartUpload: &types.CompletedMultipartUpload{Parts: completed},
	})
	if err != nil {
		return fmt.Errorf("completing the upload of %s: %w", b.URL(key), err)
	}
	return nil
}

// parts returns the parts of an upload and their size.
func (b *Bucket) parts(ctx context.Context, key, upload string) (completed []types.CompletedPart, size int64, err error) {
	pages := s3.NewListPartsPaginator(b.api, &s3.ListPartsInput{Bucket: &b.Name, Key: &key, UploadId: &upload, ExpectedBucketOwner: &b.Owner})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, 0, fmt.Errorf("listing the parts of %s: %w", b.URL(key), err)
		}
		for _, p := range page.Parts {
			size += aws.ToInt64(p.Size)
			completed = append(completed, types.CompletedPart{PartNumber: p.PartNumber, ETag: p.ETag})
		}
	}
	return completed, size, nil
}

// Size returns the size of an object, or -1 if it does not exist. The list is restricted to the key, as a policy may require it.
func (b *Bucket) Size(ctx context.Context, key string) (int64, error) {
	pages := s3.NewListObjectsV2Paginator(b.api, &s3.ListObjectsV2Input{Bucket: &b.Name, Prefix: &key, ExpectedBucketOwner: &b.Owner})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, fmt.Errorf("reading the size of %s: %w", b.URL(key), err)
		}
		for _, o := range page.Contents {
			if aws.ToString(o.Key) == key {
				return aws.ToInt64(o.Size), nil
			}
		}
	}
	return -1, nil
}

// maxObjects bounds the objects of a cluster, which a program keeps in memory.
const maxObjects = 64 << 20

// Write writes an object, encrypted as the backups are.
func (b *Bucket) Write(ctx context.Context, key, contentType string, content []byte) error {
	in := &s3.PutObjectInput{Bucket: &b.Name, Key: &key, ExpectedBucketOwner: &b.Owner, Body: bytes.NewReader(content), ContentType: &contentType}
	if b.KMSKeyARN != "" {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &b.KMSKeyARN
	}
	if _, err := b.api.PutObject(ctx, in); err != nil {
		return fmt.Errorf("writing %s: %w", b.URL(key), err)
	}
	return nil
}

// Read reads an object that Write has written.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	out, err := b.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &key, ExpectedBucketOwner: &b.Owner})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.URL(key), err)
	}
	defer func() { _ = out.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(out.Body, maxObjects+1))
	if err == nil && len(content) > maxObjects {
		err = fmt.Errorf("it has more than %d MiB", maxObjects>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.URL(key), err)
	}
	return content, nil
}

// An Object is a stored backup.
type Object struct {
	Size int64
	// SHA256 is the checksum in the second object, empty without one.
	SHA256 string
	// InfraID is that of the cluster, empty if the object has no such metadata.
	InfraID string
}

// Describe reads what is known of a backup. An object that does not exist is an error.
func (b *Bucket) Describe(ctx context.Context, key string) (Object, error) {
	head, err := b.api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Name, Key: &key, ExpectedBucketOwner: &b.Owner})
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", b.URL(key), err)
	}
	o := Object{Size: aws.ToInt64(head.ContentLength), InfraID: head.Metadata[metadataOwner]}
	sum, err := b.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: aws.String(key + ChecksumSuffix), ExpectedBucketOwner: &b.Owner})
	if awsx.IsNotFound(err) {
		return o, nil
	}
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", b.URL(key+ChecksumSuffix), err)
	}
	defer sum.Body.Close()
	text, err := io.ReadAll(io.LimitReader(sum.Body, 1<<10))
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", b.URL(key+ChecksumSuffix), err)
	}
	o.SHA256, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(string(text))), " ") // the format of sha256sum
	if raw, err := hex.DecodeString(o.SHA256); err != nil || len(raw) != sha256.Size {
		return Object{}, fmt.Errorf("%s has no SHA-256 checksum of 64 hexadecimal digits", b.URL(key+ChecksumSuffix))
	}
	return o, nil
}

// Abort removes the uploaded parts of an object that is not complete. It returns an error that IsNoBucket without a bucket.
func (b *Bucket) Abort(ctx context.Context, key string) error {
	uploads, err := b.uploads(ctx, key)
	if err != nil {
		return err
	}
	for _, id := range uploads {
		ctrl.LoggerFrom(ctx).Info("Aborting an upload", "bucket", b.Name, "key", key)
		_, err := b.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.Name, Key: &key, UploadId: &id, ExpectedBucketOwner: &b.Owner})
		if err != nil && !awsx.IsNotFound(err) {
			return fmt.Errorf("aborting the upload of %s: %w", b.URL(key), err)
		}
	}
	return nil
}

// Delete deletes a backup with its checksum.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	ctrl.LoggerFrom(ctx).Info("Deleting a backup", "bucket", b.Name, "key", key)
	doomed := []types.ObjectIdentifier{{Key: &key}, {Key: aws.String(key + ChecksumSuffix)}, {Key: aws.String(key + ObjectsSuffix)}}
	out, err := b.api.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &b.Name, ExpectedBucketOwner: &b.Owner, Delete: &types.Delete{Objects: doomed, Quiet: aws.Bool(true)},
	})
	if IsNoBucket(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting %s: %w", b.URL(key), err)
	}
	for _, e := range out.Errors {
		return fmt.Errorf("deleting %s: %s: %s", b.URL(aws.ToString(e.Key)), aws.ToString(e.Code), aws.ToString(e.Message))
	}
	return nil
}

// IsNoBucket is true if the bucket itself does not exist.
func IsNoBucket(err error) bool { return awsx.Code(err) == "NoSuchBucket" }
