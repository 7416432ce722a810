package fakeaws

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

func init() {
	register(S3,
		write("PutObject", (*request).putObject, "ACL", "Bucket", "Key", "Body", "ContentType", "CacheControl", "ContentLength", "ContentMD5", "ChecksumAlgorithm", "ChecksumCRC32", "ChecksumSHA256", "Metadata", "IfMatch", "IfNoneMatch", "ServerSideEncryption", "SSEKMSKeyId", "ExpectedBucketOwner"),
		read("GetObject", (*request).getObject, "Bucket", "Key", "ChecksumMode", "ExpectedBucketOwner"),
		read("HeadObject", (*request).headObject, "Bucket", "Key", "ChecksumMode", "ExpectedBucketOwner"),
		read("HeadBucket", (*request).headBucket, "Bucket", "ExpectedBucketOwner"),
		read("ListObjectsV2", (*request).listObjects, "Bucket", "Prefix", "MaxKeys", "ContinuationToken", "StartAfter", "ExpectedBucketOwner"),
		write("DeleteObject", (*request).deleteObject, "Bucket", "Key", "ExpectedBucketOwner"),
		write("DeleteObjects", (*request).deleteObjects, "Bucket", "Delete", "ChecksumAlgorithm", "ExpectedBucketOwner"),
	)
}

// bucket has one owner; other accounts get AccessDenied.
type bucket struct {
	owner   *Account
	region  string
	objects map[string]*object
	// uploads are the unfinished multipart uploads by their ids; created counts them.
	uploads map[string]*upload
	created int
	bucketSettings
}

type object struct {
	body                 []byte
	contentType, caching string
	metadata             map[string]string
	kmsKey               string
	at                   time.Time
}

func (o *object) etag() string { return fmt.Sprintf(`"%x"`, md5.Sum(o.body)) }

// AddBucket makes an empty bucket.
func (a *Account) AddBucket(region, name string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.cloud.buckets[name] = newBucket(a, region)
}

// RemoveBucket takes a bucket away with all it has.
func (a *Account) RemoveBucket(name string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	delete(a.cloud.buckets, name)
}

// Object returns an object of a bucket, as an anonymous reader of a public bucket sees it.
func (c *Cloud) Object(bucket, key string) (body []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.object(bucket, key)
	if o == nil {
		return nil, false
	}
	return slices.Clone(o.body), true
}

func (c *Cloud) object(bucket, key string) *object {
	if b := c.buckets[bucket]; b != nil {
		return b.objects[key]
	}
	return nil
}

func (q *request) bucket(name *string) (*bucket, error) {
	b := q.cloud.buckets[*name]
	switch {
	case b == nil:
		return nil, modelled(http.StatusNotFound, &types.NoSuchBucket{Message: aws.String("The specified bucket does not exist")})
	case b.owner != q.account:
		return nil, refused(http.StatusForbidden, "AccessDenied", "Access Denied")
	case b.region != q.region.name:
		return nil, refused(http.StatusMovedPermanently, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.")
	}
	return b, nil
}

func (q *request) putObject(in *s3.PutObjectInput) (*s3.PutObjectOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if in.ACL != "" && in.ACL != types.ObjectCannedACLBucketOwnerFullControl {
		rule := awsrules.Get("s3-access-control-lists")
		return nil, refused(http.StatusBadRequest, rule.Code, rule.Text(*in.Bucket))
	}
	old := b.objects[*in.Key]
	switch {
	case in.IfNoneMatch != nil && old != nil, in.IfMatch != nil && old != nil && *in.IfMatch != old.etag():
		return nil, refused(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	case in.IfMatch != nil && old == nil:
		return nil, modelled(http.StatusNotFound, &types.NoSuchKey{Message: aws.String("The specified key does not exist.")})
	}
	o := &object{contentType: cmp.Or(aws.ToString(in.ContentType), "application/octet-stream"), caching: aws.ToString(in.CacheControl), metadata: maps.Clone(in.Metadata), kmsKey: aws.ToString(in.SSEKMSKeyId), at: q.now}
	if in.Body != nil {
		if o.body, err = sent(in.Body); err != nil {
			return nil, fmt.Errorf("reading the body of %s: %w", *in.Key, err)
		}
	}
	b.objects[*in.Key] = o
	return &s3.PutObjectOutput{ETag: aws.String(o.etag())}, nil
}

// sent returns the body that send has read before.
func sent(body io.Reader) ([]byte, error) {
	again, ok := body.(io.Seeker)
	if !ok {
		return nil, errors.New("fakeaws: a body that cannot be read twice")
	}
	if _, err := again.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}

func (q *request) getObject(in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	o := b.objects[*in.Key]
	if o == nil {
		return nil, modelled(http.StatusNotFound, &types.NoSuchKey{Message: aws.String("The specified key does not exist.")})
	}
	return &s3.GetObjectOutput{
		Body: io.NopCloser(bytes.NewReader(slices.Clone(o.body))), ContentLength: aws.Int64(int64(len(o.body))),
		ContentType: aws.String(o.contentType), CacheControl: optional(o.caching), ETag: aws.String(o.etag()), LastModified: aws.Time(o.at), Metadata: maps.Clone(o.metadata),
	}, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// headObject has no body, so all that is missing is a NotFound without more words.
func (q *request) headObject(in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, headless(err)
	}
	o := b.objects[*in.Key]
	if o == nil {
		return nil, modelled(http.StatusNotFound, &types.NotFound{})
	}
	return &s3.HeadObjectOutput{
		ContentLength: aws.Int64(int64(len(o.body))), ContentType: aws.String(o.contentType), CacheControl: optional(o.caching),
		ETag: aws.String(o.etag()), LastModified: aws.Time(o.at), Metadata: maps.Clone(o.metadata), SSEKMSKeyId: optional(o.kmsKey),
	}, nil
}

func (q *request) headBucket(in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, headless(err)
	}
	return &s3.HeadBucketOutput{BucketRegion: aws.String(b.region)}, nil
}

// headless is an error of which only the status arrives.
func headless(err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	switch r.status {
	case http.StatusNotFound:
		return modelled(r.status, &types.NotFound{})
	case http.StatusForbidden:
		return refused(r.status, "Forbidden", "Forbidden")
	}
	return refused(r.status, "MovedPermanently", "Moved Permanently")
}

func (q *request) listObjects(in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	n := min(int(aws.ToInt32(cmp.Or(in.MaxKeys, aws.Int32(1000)))), q.cloud.pageSize, 1000)
	after := cmp.Or(aws.ToString(in.ContinuationToken), aws.ToString(in.StartAfter))
	out := &s3.ListObjectsV2Output{Name: in.Bucket, Prefix: in.Prefix, MaxKeys: aws.Int32(int32(n)), IsTruncated: aws.Bool(false)}
	for _, key := range keys(b.objects) {
		if key <= after || !strings.HasPrefix(key, aws.ToString(in.Prefix)) {
			continue
		}
		if len(out.Contents) == n {
			out.IsTruncated, out.NextContinuationToken = aws.Bool(true), out.Contents[n-1].Key
			break
		}
		o := b.objects[key]
		out.Contents = append(out.Contents, types.Object{Key: aws.String(key), ETag: aws.String(o.etag()), Size: aws.Int64(int64(len(o.body))), LastModified: aws.Time(o.at)})
	}
	out.KeyCount = aws.Int32(int32(len(out.Contents)))
	return out, nil
}

// deleteObject succeeds for a key that is not there.
func (q *request) deleteObject(in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	delete(b.objects, *in.Key)
	return &s3.DeleteObjectOutput{}, nil
}

func (q *request) deleteObjects(in *s3.DeleteObjectsInput) (*s3.DeleteObjectsOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if n := len(in.Delete.Objects); n == 0 || n > 1000 {
		return nil, malformed()
	}
	out := &s3.DeleteObjectsOutput{}
	for _, o := range in.Delete.Objects {
		if kept := b.remove(o); kept != nil {
			out.Errors = append(out.Errors, *kept)
		} else if !aws.ToBool(in.Delete.Quiet) {
			out.Deleted = append(out.Deleted, types.DeletedObject{Key: o.Key, VersionId: o.VersionId})
		}
	}
	return out, nil
}
