package fakeaws

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func init() {
	register(S3,
		write("CreateMultipartUpload", (*request).createUpload, "Bucket", "Key", "ContentType", "Metadata", "ServerSideEncryption", "SSEKMSKeyId", "ChecksumAlgorithm", "ExpectedBucketOwner"),
		read("ListMultipartUploads", (*request).listUploads, "Bucket", "Prefix", "MaxUploads", "KeyMarker", "UploadIdMarker", "ExpectedBucketOwner"),
		read("ListParts", (*request).listParts, "Bucket", "Key", "UploadId", "MaxParts", "PartNumberMarker", "ExpectedBucketOwner"),
		write("CompleteMultipartUpload", (*request).completeUpload, "Bucket", "Key", "UploadId", "MultipartUpload", "ExpectedBucketOwner"),
		write("AbortMultipartUpload", (*request).abortUpload, "Bucket", "Key", "UploadId", "ExpectedBucketOwner"),
	)
}

// smallestPart is the smallest size of each part but the last:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const smallestPart = 5 << 20

// upload is a multipart upload that is neither completed nor aborted.
type upload struct {
	key, id  string
	metadata map[string]string
	kmsKey   string
	at       time.Time
	parts    map[int32][]byte
}

// Uploads returns the ids of the unfinished uploads of a bucket, by key.
func (c *Cloud) Uploads(bucket string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[string]string{}
	if b := c.buckets[bucket]; b != nil {
		for id, u := range b.uploads {
			ids[u.key] = id
		}
	}
	return ids
}

// UploadPart stores a part, as the holder of a presigned URL does.
func (c *Cloud) UploadPart(bucket, id string, number int32, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.buckets[bucket]
	if b == nil || b.uploads[id] == nil {
		return noSuchUpload()
	}
	b.uploads[id].parts[number] = slices.Clone(body)
	return nil
}

func noSuchUpload() error {
	return modelled(http.StatusNotFound, &types.NoSuchUpload{Message: aws.String("The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.")})
}

// owned returns a bucket, which is the account's if the caller expects one.
func (q *request) owned(name, owner *string) (*bucket, error) {
	b := q.cloud.buckets[*name]
	if b != nil && owner != nil && b.owner.id != *owner {
		return nil, refused(http.StatusForbidden, "AccessDenied", "Access Denied")
	}
	return q.bucket(name)
}

func (q *request) upload(bucket, owner, id *string) (*bucket, *upload, error) {
	b, err := q.owned(bucket, owner)
	if err != nil {
		return nil, nil, err
	}
	u := b.uploads[*id]
	if u == nil {
		return nil, nil, noSuchUpload()
	}
	return b, u, nil
}

func (q *request) createUpload(in *s3.CreateMultipartUploadInput) (*s3.CreateMultipartUploadOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	b.created++
	u := &upload{key: *in.Key, id: fmt.Sprintf("upload-%d", b.created), metadata: maps.Clone(in.Metadata), kmsKey: aws.ToString(in.SSEKMSKeyId), at: q.now, parts: map[int32][]byte{}}
	b.uploads[u.id] = u
	return &s3.CreateMultipartUploadOutput{Bucket: in.Bucket, Key: in.Key, UploadId: &u.id, SSEKMSKeyId: in.SSEKMSKeyId, ServerSideEncryption: in.ServerSideEncryption}, nil
}

func (q *request) listUploads(in *s3.ListMultipartUploadsInput) (*s3.ListMultipartUploadsOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	out := &s3.ListMultipartUploadsOutput{Bucket: in.Bucket, Prefix: in.Prefix, IsTruncated: aws.Bool(false)}
	n := min(int(aws.ToInt32(cmp.Or(in.MaxUploads, aws.Int32(1000)))), q.cloud.pageSize, 1000)
	for _, id := range keys(b.uploads) {
		if u := b.uploads[id]; id > aws.ToString(in.UploadIdMarker) && strings.HasPrefix(u.key, aws.ToString(in.Prefix)) {
			if len(out.Uploads) == n {
				out.IsTruncated, out.NextKeyMarker, out.NextUploadIdMarker = aws.Bool(true), out.Uploads[n-1].Key, out.Uploads[n-1].UploadId
				break
			}
			out.Uploads = append(out.Uploads, types.MultipartUpload{Key: aws.String(u.key), UploadId: aws.String(u.id), Initiated: aws.Time(u.at)})
		}
	}
	return out, nil
}

func (q *request) listParts(in *s3.ListPartsInput) (*s3.ListPartsOutput, error) {
	_, u, err := q.upload(in.Bucket, in.ExpectedBucketOwner, in.UploadId)
	if err != nil {
		return nil, err
	}
	out := &s3.ListPartsOutput{Bucket: in.Bucket, Key: in.Key, UploadId: in.UploadId, IsTruncated: aws.Bool(false)}
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		out.Parts = append(out.Parts, types.Part{PartNumber: aws.Int32(n), Size: aws.Int64(int64(len(u.parts[n]))), ETag: aws.String(partTag(u.parts[n]))})
	}
	return out, nil
}

func partTag(body []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(body)) }

func (q *request) completeUpload(in *s3.CompleteMultipartUploadInput) (*s3.CompleteMultipartUploadOutput, error) {
	b, u, err := q.upload(in.Bucket, in.ExpectedBucketOwner, in.UploadId)
	if err != nil {
		return nil, err
	}
	if in.MultipartUpload == nil || len(in.MultipartUpload.Parts) == 0 {
		return nil, refused(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	}
	var body bytes.Buffer
	last := int32(0)
	for i, p := range in.MultipartUpload.Parts {
		part, ok := u.parts[*p.PartNumber]
		switch {
		case *p.PartNumber <= last:
			return nil, refused(http.StatusBadRequest, "InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.")
		case !ok || partTag(part) != cmp.Or(aws.ToString(p.ETag), partTag(part)):
			return nil, refused(http.StatusBadRequest, "InvalidPart", "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.")
		case i < len(in.MultipartUpload.Parts)-1 && len(part) < smallestPart:
			return nil, refused(http.StatusBadRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
		}
		last = *p.PartNumber
		body.Write(part)
	}
	delete(b.uploads, u.id)
	o := &object{body: body.Bytes(), contentType: "application/octet-stream", metadata: u.metadata, kmsKey: u.kmsKey, at: q.now}
	b.objects[u.key] = o
	return &s3.CompleteMultipartUploadOutput{Bucket: in.Bucket, Key: in.Key, ETag: aws.String(o.etag())}, nil
}

func (q *request) abortUpload(in *s3.AbortMultipartUploadInput) (*s3.AbortMultipartUploadOutput, error) {
	b, u, err := q.upload(in.Bucket, in.ExpectedBucketOwner, in.UploadId)
	if err != nil {
		return nil, err
	}
	delete(b.uploads, u.id)
	return &s3.AbortMultipartUploadOutput{}, nil
}
