// Package oidcdocs publishes the documents of hosted clusters' token issuers in an
// S3 bucket, one prefix per cluster. AWS reads them to check the tokens with which a
// cluster's operators and pods assume their roles: while they are missing or wrong,
// AWS accepts no token of that cluster.
package oidcdocs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// API is the part of S3 that this package uses.
type API interface {
	Options() s3.Options
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

// NewClient returns a client for the bucket. The content of the documents is
// compared anyway, so an object without a checksum is not worth a log line.
func NewClient(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
}

// ownerKey is the metadata key of an object for the UID of its cluster.
const ownerKey = "hypershift-owner"

// maxSize is far more than a document of ours has; a larger one is not ours.
const maxSize = 1 << 20

// A Bucket holds the documents of all clusters of an operator.
type Bucket struct {
	api  API
	name string
}

// New returns the bucket with that name, in the region that api calls.
func New(api API, name string) *Bucket { return &Bucket{api: api, name: name} }

// Name is the name of the bucket.
func (b *Bucket) Name() string { return b.name }

// Region is where the bucket is.
func (b *Bucket) Region() string { return b.api.Options().Region }

// A Site contains the documents that one cluster publishes.
type Site struct {
	// Prefix is the cluster's infraID.
	Prefix string
	// Owner is the UID of the cluster.
	Owner string
	// Documents are the contents by path below the prefix. Removing needs the paths only.
	Documents map[string][]byte
	// Proves reports whether the documents that exist, by path, can only be those of this cluster, whoever the owner is: the cluster has moved from
	// another management cluster. Nil: they cannot.
	Proves func(existing map[string][]byte) bool
}

// A ForeignError is returned when a document under our prefix belongs to another cluster.
type ForeignError struct{ Bucket, Key string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("s3://%s/%s belongs to another cluster: choose another infraID, or remove the object", e.Bucket, e.Key)
}

// Publish writes the documents of the site that differ, and reports whether there
// was one. An object of another cluster is never written.
func (b *Bucket) Publish(ctx context.Context, site Site) (changed bool, err error) {
	objects, existing := map[string]*object{}, map[string][]byte{}
	for path := range site.Documents {
		if objects[path], err = b.get(ctx, site.Prefix+"/"+path); err != nil {
			return false, err
		}
		if objects[path] != nil {
			existing[path] = objects[path].body
		}
	}
	moved := site.Proves != nil && site.Proves(existing)
	for _, path := range slices.Sorted(maps.Keys(site.Documents)) {
		key, desired, got := site.Prefix+"/"+path, site.Documents[path], objects[path]
		same := got != nil && bytes.Equal(got.body, desired)
		if same && got.owner == site.Owner {
			continue
		}
		// Content that matches, without an owner, was published for this cluster by another tool.
		if got != nil && got.owner != site.Owner && !(same && got.owner == "") && !moved {
			return changed, &ForeignError{Bucket: b.name, Key: key}
		}
		if err := b.put(ctx, key, site.Owner, desired); err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

// Remove deletes those documents of the site that are its own.
func (b *Bucket) Remove(ctx context.Context, site Site) error {
	var doomed []types.ObjectIdentifier
	for _, path := range slices.Sorted(maps.Keys(site.Documents)) {
		key := site.Prefix + "/" + path
		got, err := b.get(ctx, key)
		if IsNoBucket(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if got != nil && got.owner == site.Owner {
			doomed = append(doomed, types.ObjectIdentifier{Key: aws.String(key)})
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Deleting OIDC documents", "bucket", b.name, "prefix", site.Prefix)
	out, err := b.api.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: aws.String(b.name),
		Delete: &types.Delete{Objects: doomed, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("deleting OIDC documents s3://%s/%s: %w", b.name, site.Prefix, err)
	}
	var errs []error
	for _, e := range out.Errors {
		cause := &smithy.GenericAPIError{Code: aws.ToString(e.Code), Message: aws.ToString(e.Message)}
		errs = append(errs, fmt.Errorf("deleting OIDC document s3://%s/%s: %w", b.name, aws.ToString(e.Key), cause))
	}
	return errors.Join(errs...)
}

type object struct {
	owner string
	body  []byte
}

// get returns the object, or nil if it does not exist.
func (b *Bucket) get(ctx context.Context, key string) (*object, error) {
	out, err := b.api.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(b.name), Key: aws.String(key)})
	if awsx.IsNotFound(err) && !IsNoBucket(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading OIDC document s3://%s/%s: %w", b.name, key, err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(io.LimitReader(out.Body, maxSize))
	if err != nil {
		return nil, fmt.Errorf("reading OIDC document s3://%s/%s: %w", b.name, key, err)
	}
	return &object{owner: out.Metadata[ownerKey], body: body}, nil
}

func (b *Bucket) put(ctx context.Context, key, owner string, body []byte) error {
	ctrl.LoggerFrom(ctx).Info("Publishing OIDC document", "bucket", b.name, "key", key)
	_, err := b.api.PutObject(ctx, &s3.PutObjectInput{
		Bucket:      aws.String(b.name),
		Key:         aws.String(key),
		Body:        bytes.NewReader(body),
		ContentType: aws.String("application/json"),
		Metadata:    map[string]string{ownerKey: owner},
	})
	if err != nil {
		return fmt.Errorf("publishing OIDC document s3://%s/%s: %w", b.name, key, err)
	}
	return nil
}

// IsNoBucket is true if the bucket itself does not exist.
func IsNoBucket(err error) bool { return awsx.Code(err) == "NoSuchBucket" }
