package fakeaws

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

func init() {
	register(S3,
		write("CreateBucket", (*request).createBucket, "Bucket", "CreateBucketConfiguration"),
		write("DeleteBucket", (*request).deleteBucket, "Bucket", "ExpectedBucketOwner"),
		read("GetBucketTagging", (*request).getBucketTagging, "Bucket", "ExpectedBucketOwner"),
		write("PutBucketTagging", (*request).putBucketTagging, "Bucket", "Tagging", "ChecksumAlgorithm", "ExpectedBucketOwner"),
		read("GetPublicAccessBlock", (*request).getPublicAccessBlock, "Bucket", "ExpectedBucketOwner"),
		write("PutPublicAccessBlock", (*request).putPublicAccessBlock, "Bucket", "PublicAccessBlockConfiguration", "ChecksumAlgorithm", "ExpectedBucketOwner"),
		read("GetBucketEncryption", (*request).getBucketEncryption, "Bucket", "ExpectedBucketOwner"),
		write("PutBucketEncryption", (*request).putBucketEncryption, "Bucket", "ServerSideEncryptionConfiguration", "ChecksumAlgorithm", "ExpectedBucketOwner"),
		read("GetBucketLifecycleConfiguration", (*request).getBucketLifecycle, "Bucket", "ExpectedBucketOwner"),
		write("PutBucketLifecycleConfiguration", (*request).putBucketLifecycle, "Bucket", "LifecycleConfiguration", "ChecksumAlgorithm", "ExpectedBucketOwner"),
		read("GetBucketPolicy", (*request).getBucketPolicy, "Bucket", "ExpectedBucketOwner"),
		write("PutBucketPolicy", (*request).putBucketPolicy, "Bucket", "Policy", "ChecksumAlgorithm", "ExpectedBucketOwner"),
		read("ListObjectVersions", (*request).listObjectVersions, "Bucket", "Prefix", "MaxKeys", "KeyMarker", "VersionIdMarker", "ExpectedBucketOwner"),
	)
}

// bucketSettings are the parts of a bucket that are not objects.
type bucketSettings struct {
	tags       map[string]string
	block      *types.PublicAccessBlockConfiguration
	encryption []types.ServerSideEncryptionRule
	lifecycle  []types.LifecycleRule
	policy     string
	// older are former versions of objects and delete markers, the latest first, by key. Versions of objects have the id "null".
	older map[string][]version
	// held are the keys of objects with a legal hold, of which no version can be deleted.
	held map[string]bool
}

// version is a former version, or a delete marker.
type version struct {
	id     string
	marker bool
}

// currentVersion is the version id of an object in a bucket without versioning.
const currentVersion = "null"

// newBucket returns a bucket as AWS creates it since April 2023: with the public access block, and since January 2023 with SSE-S3.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/create-bucket-faq.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-encryption-faq.html
func newBucket(owner *Account, region string) *bucket {
	return &bucket{
		owner: owner, region: region, objects: map[string]*object{}, uploads: map[string]*upload{},
		bucketSettings: bucketSettings{
			block: &types.PublicAccessBlockConfiguration{
				BlockPublicAcls: aws.Bool(true), IgnorePublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
			},
			encryption: []types.ServerSideEncryptionRule{{
				ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256}, BucketKeyEnabled: aws.Bool(false),
			}},
			older: map[string][]version{}, held: map[string]bool{},
		},
	}
}

// AddVersion adds a former version of an object, or a delete marker.
func (a *Account) AddVersion(bucket, key, id string, marker bool) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	b := a.cloud.buckets[bucket]
	b.older[key] = append([]version{{id, marker}}, b.older[key]...)
}

// Hold sets or removes the legal hold of an object.
func (a *Account) Hold(bucket, key string, held bool) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.cloud.buckets[bucket].held[key] = held
}

// bucketName matches the names of buckets, without dots.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// ownersRegion is the region in which CreateBucket succeeds for a bucket that the caller owns, and that allows no location constraint.
const ownersRegion = "us-east-1"

func (q *request) createBucket(in *s3.CreateBucketInput) (*s3.CreateBucketOutput, error) {
	location := ""
	if c := in.CreateBucketConfiguration; c != nil {
		location = string(c.LocationConstraint)
	}
	existing := q.cloud.buckets[*in.Bucket]
	switch {
	case !bucketName.MatchString(*in.Bucket):
		return nil, refused(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
	case q.region.name == ownersRegion && location != "":
		return nil, refused(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid")
	case q.region.name != ownersRegion && location != q.region.name:
		return nil, refused(http.StatusBadRequest, "IllegalLocationConstraintException",
			"The unspecified location constraint is incompatible for the region specific endpoint this request was sent to.")
	case existing == nil:
		q.cloud.buckets[*in.Bucket] = newBucket(q.account, q.region.name)
	case existing.owner != q.account:
		return nil, modelled(http.StatusConflict, &types.BucketAlreadyExists{Message: aws.String(
			"The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.")})
	case q.region.name != ownersRegion || existing.region != ownersRegion:
		return nil, modelled(http.StatusConflict, &types.BucketAlreadyOwnedByYou{Message: aws.String(
			"Your previous request to create the named bucket succeeded and you already own it.")})
	}
	return &s3.CreateBucketOutput{Location: aws.String("/" + *in.Bucket)}, nil
}

// deleteBucket also refuses a bucket with unfinished uploads. AWS documents this for directory buckets only.
func (q *request) deleteBucket(in *s3.DeleteBucketInput) (*s3.DeleteBucketOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if len(b.objects)+len(b.older)+len(b.uploads) > 0 {
		return nil, refused(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty. You must delete all versions in the bucket.")
	}
	delete(q.cloud.buckets, *in.Bucket)
	return &s3.DeleteBucketOutput{}, nil
}

func (q *request) getBucketTagging(in *s3.GetBucketTaggingInput) (*s3.GetBucketTaggingOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if len(b.tags) == 0 {
		return nil, refused(http.StatusNotFound, "NoSuchTagSet", "The TagSet does not exist")
	}
	out := &s3.GetBucketTaggingOutput{}
	for _, k := range keys(b.tags) {
		out.TagSet = append(out.TagSet, types.Tag{Key: aws.String(k), Value: aws.String(b.tags[k])})
	}
	return out, nil
}

// maxBucketTags is how many tags a bucket may have.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/CostAllocTagging.html
const maxBucketTags = 50

// putBucketTagging replaces all tags.
func (q *request) putBucketTagging(in *s3.PutBucketTaggingInput) (*s3.PutBucketTaggingOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, t := range in.Tagging.TagSet {
		if _, twice := tags[*t.Key]; twice {
			return nil, refused(http.StatusBadRequest, "InvalidTag", "Cannot provide multiple Tags with the same key")
		}
		tags[*t.Key] = *t.Value
	}
	if len(tags) > maxBucketTags {
		return nil, refused(http.StatusBadRequest, "BadRequest", "Bucket tag count cannot be greater than 50")
	}
	b.tags = tags
	return &s3.PutBucketTaggingOutput{}, nil
}

func (q *request) getPublicAccessBlock(in *s3.GetPublicAccessBlockInput) (*s3.GetPublicAccessBlockOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if b.block == nil {
		return nil, refused(http.StatusNotFound, "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found")
	}
	block := *b.block
	return &s3.GetPublicAccessBlockOutput{PublicAccessBlockConfiguration: &block}, nil
}

func (q *request) putPublicAccessBlock(in *s3.PutPublicAccessBlockInput) (*s3.PutPublicAccessBlockOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	block := *in.PublicAccessBlockConfiguration
	b.block = &block
	return &s3.PutPublicAccessBlockOutput{}, nil
}

// getBucketEncryption always finds a rule: after its deletion a bucket has SSE-S3 again.
func (q *request) getBucketEncryption(in *s3.GetBucketEncryptionInput) (*s3.GetBucketEncryptionOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	return &s3.GetBucketEncryptionOutput{ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: slices.Clone(b.encryption)}}, nil
}

func (q *request) putBucketEncryption(in *s3.PutBucketEncryptionInput) (*s3.PutBucketEncryptionOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if len(in.ServerSideEncryptionConfiguration.Rules) != 1 {
		return nil, malformed()
	}
	b.encryption = slices.Clone(in.ServerSideEncryptionConfiguration.Rules)
	return &s3.PutBucketEncryptionOutput{}, nil
}

func malformed() error {
	return refused(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
}

func (q *request) getBucketLifecycle(in *s3.GetBucketLifecycleConfigurationInput) (*s3.GetBucketLifecycleConfigurationOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if len(b.lifecycle) == 0 {
		return nil, refused(http.StatusNotFound, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist")
	}
	return &s3.GetBucketLifecycleConfigurationOutput{Rules: slices.Clone(b.lifecycle)}, nil
}

func (q *request) putBucketLifecycle(in *s3.PutBucketLifecycleConfigurationInput) (*s3.PutBucketLifecycleConfigurationOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if in.LifecycleConfiguration == nil || len(in.LifecycleConfiguration.Rules) == 0 {
		return nil, malformed()
	}
	for _, r := range in.LifecycleConfiguration.Rules {
		if r.Filter == nil || r.AbortIncompleteMultipartUpload == nil && r.Expiration == nil && len(r.Transitions) == 0 {
			return nil, malformed()
		}
	}
	b.lifecycle = slices.Clone(in.LifecycleConfiguration.Rules)
	return &s3.PutBucketLifecycleConfigurationOutput{}, nil
}

func (q *request) getBucketPolicy(in *s3.GetBucketPolicyInput) (*s3.GetBucketPolicyOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	if b.policy == "" {
		return nil, refused(http.StatusNotFound, "NoSuchBucketPolicy", "The bucket policy does not exist")
	}
	return &s3.GetBucketPolicyOutput{Policy: aws.String(b.policy)}, nil
}

// putBucketPolicy checks that all resources are in the bucket, and that the policy is not public unless the bucket allows it.
func (q *request) putBucketPolicy(in *s3.PutBucketPolicyInput) (*s3.PutBucketPolicyOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	var policy struct {
		Statement []struct {
			Effect              string
			Principal, Resource any
		}
	}
	if err := json.Unmarshal([]byte(*in.Policy), &policy); err != nil || len(policy.Statement) == 0 {
		return nil, refused(http.StatusBadRequest, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	}
	for _, s := range policy.Statement {
		for _, arn := range oneOrMore(s.Resource) {
			_, resource, _ := strings.Cut(arn, ":s3:::")
			if name, _, _ := strings.Cut(resource, "/"); name != *in.Bucket {
				return nil, refused(http.StatusBadRequest, "MalformedPolicy", "Policy has invalid resource")
			}
		}
		if s.Effect == "Allow" && s.Principal == "*" && b.block != nil && aws.ToBool(b.block.BlockPublicPolicy) {
			rule := awsrules.Get("s3-public-policy")
			return nil, refused(http.StatusForbidden, rule.Code, rule.Text(*in.Bucket))
		}
	}
	b.policy = *in.Policy
	return &s3.PutBucketPolicyOutput{}, nil
}

// oneOrMore returns the texts of a member of a policy, which is a text or a list.
func oneOrMore(value any) (all []string) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, v := range list {
		text, _ := v.(string)
		all = append(all, text)
	}
	return all
}

// listed is a version in a list.
type listed struct {
	key string
	version
	latest bool
}

// versions returns all versions, by key, the latest first.
func (b *bucket) versions() []listed {
	var all []listed
	names := slices.Concat(slices.Collect(maps.Keys(b.objects)), slices.Collect(maps.Keys(b.older)))
	slices.Sort(names)
	for _, key := range slices.Compact(names) {
		list := b.older[key]
		if b.objects[key] != nil {
			list = append([]version{{id: currentVersion}}, list...)
		}
		for i, v := range list {
			all = append(all, listed{key, v, i == 0})
		}
	}
	return all
}

func (q *request) listObjectVersions(in *s3.ListObjectVersionsInput) (*s3.ListObjectVersionsOutput, error) {
	b, err := q.owned(in.Bucket, in.ExpectedBucketOwner)
	if err != nil {
		return nil, err
	}
	n := min(int(aws.ToInt32(cmp.Or(in.MaxKeys, aws.Int32(1000)))), q.cloud.pageSize, 1000)
	out := &s3.ListObjectVersionsOutput{Name: in.Bucket, Prefix: in.Prefix, MaxKeys: aws.Int32(int32(n)), IsTruncated: aws.Bool(false)}
	all := slices.DeleteFunc(b.versions(), func(l listed) bool { return !strings.HasPrefix(l.key, aws.ToString(in.Prefix)) })
	if key := aws.ToString(in.KeyMarker); key != "" {
		last := slices.IndexFunc(all, func(l listed) bool { return l.key > key || l.key == key && l.id == aws.ToString(in.VersionIdMarker) })
		if last >= 0 && all[last].key == key {
			last++
		}
		if last < 0 {
			last = len(all)
		}
		all = all[last:]
	}
	if len(all) > n {
		all = all[:n]
		out.IsTruncated, out.NextKeyMarker, out.NextVersionIdMarker = aws.Bool(true), aws.String(all[n-1].key), aws.String(all[n-1].id)
	}
	for _, l := range all {
		if l.marker {
			out.DeleteMarkers = append(out.DeleteMarkers, types.DeleteMarkerEntry{Key: aws.String(l.key), VersionId: aws.String(l.id), IsLatest: aws.Bool(l.latest)})
			continue
		}
		out.Versions = append(out.Versions, types.ObjectVersion{Key: aws.String(l.key), VersionId: aws.String(l.id), IsLatest: aws.Bool(l.latest)})
	}
	return out, nil
}

// remove deletes a version of an object, the object itself without an id.
func (b *bucket) remove(o types.ObjectIdentifier) *types.Error {
	if b.held[*o.Key] {
		return &types.Error{Key: o.Key, VersionId: o.VersionId, Code: aws.String("AccessDenied"), Message: aws.String("Access Denied because object protected by object lock.")}
	}
	if id := cmp.Or(aws.ToString(o.VersionId), currentVersion); id != currentVersion {
		b.older[*o.Key] = slices.DeleteFunc(b.older[*o.Key], func(v version) bool { return v.id == id })
		if len(b.older[*o.Key]) == 0 {
			delete(b.older, *o.Key)
		}
		return nil
	}
	delete(b.objects, *o.Key)
	return nil
}

// drawBucket draws a bucket that exists, with its settings and its objects.
func (p *picture) drawBucket(name string, b *bucket) {
	p.line("%s bucket %s in %s%s; %s", b.owner.id, name, b.region, tagText(b.tags), b.described())
	for key, o := range b.objects {
		p.line("%s s3://%s/%s %s %s", b.owner.id, name, key, o.contentType, long.ReplaceAllString(string(o.body), "…"))
	}
	for key, list := range b.older {
		p.line("%s s3://%s/%s %d former versions", b.owner.id, name, key, len(list))
	}
	for _, u := range b.uploads {
		p.line("%s s3://%s/%s upload of %d parts", b.owner.id, name, u.key, len(u.parts))
	}
}

// described returns the settings.
func (s *bucketSettings) described() string {
	var parts []string
	for _, setting := range []any{s.block, s.encryption, s.lifecycle} {
		text, err := json.Marshal(setting)
		if err != nil {
			panic(err) // structures, lists and texts always marshal
		}
		parts = append(parts, string(text))
	}
	return fmt.Sprintf("public access %s, encryption %s, lifecycle %s, policy %s", parts[0], parts[1], parts[2], s.policy)
}
