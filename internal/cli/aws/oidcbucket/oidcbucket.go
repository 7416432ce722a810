package oidcbucket

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// OwnershipTag is the key of the ownership tag of the bucket.
const OwnershipTag = "hypershift.openshift.io/oidc-bucket"

// Spec is the user's request.
type Spec struct {
	Name, Region string
	// Partition and Account are where the bucket is.
	Partition, Account string
	Tags               awsx.Tags
}

// AWS reads the documents from the host name <bucket>.s3.<region>.amazonaws.com. Its certificate has no names with more dots.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// Validate returns the problems, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	switch path := field.NewPath("--name"); {
	case s.Name == "":
		errs = append(errs, field.Required(path, ""))
	case !bucketName.MatchString(s.Name):
		errs = append(errs, field.Invalid(path, s.Name, "must have 3 to 63 lower-case letters, digits and hyphens, and no dots"))
	}
	return append(errs, s.Tags.Validate(field.NewPath("--additional-tags"), func(key string) bool { return key == OwnershipTag })...)
}

// Owner is the owner of the bucket.
func (s Spec) Owner() awsgraph.Owner { return awsgraph.Owner{Key: OwnershipTag, Tags: s.Tags} }

// Output is the result as values for the chart.
type Output struct {
	OIDC OutputBucket `json:"oidc"`
}

// OutputBucket is a bucket.
type OutputBucket struct {
	Bucket string `json:"bucket"`
	Region string `json:"region"`
}

// NewOutput returns the result of a spec that was applied.
func NewOutput(s Spec) Output { return Output{OIDC: OutputBucket{Bucket: s.Name, Region: s.Region}} }

// Cloud is S3 in an account.
type Cloud struct {
	reader *s3.Client
	// writer makes one attempt. The engine decides about the next one.
	writer *s3.Client
}

// NewCloud returns S3 in the account of cfg.
func NewCloud(cfg aws.Config) *Cloud {
	writing := cfg.Copy()
	writing.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return &Cloud{reader: s3.NewFromConfig(cfg), writer: s3.NewFromConfig(writing)}
}

// bucket is the node of the bucket.
const bucket = "bucket"

type builder struct {
	*Cloud
	Spec
	name, account *string
}

// Nodes returns the nodes of the spec.
func (c *Cloud) Nodes(s Spec) []*rg.Node {
	b := builder{Cloud: c, Spec: s, name: &s.Name, account: &s.Account}
	return []*rg.Node{b.bucket(), b.tags(), b.publicAccess(), b.policy()}
}

// observe returns the tags of the bucket. Another account's bucket of that name is an error.
func (b builder) observe(ctx context.Context) (tags awsx.Tags, exists bool, _ error) {
	answer, err := b.reader.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: b.name, ExpectedBucketOwner: b.account})
	switch code := awsx.Code(err); {
	case err == nil:
		tags := awsx.Tags{}
		for _, t := range answer.TagSet {
			tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
		return tags, true, nil
	case code == "NoSuchTagSet":
		return awsx.Tags{}, true, nil
	case code == "NoSuchBucket":
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("reading the tags of bucket %s: %w", b.Name, err)
}

// owns is true for a bucket with the ownership tag, and for one without tags if its creation is recorded: the tags take another call
// than the bucket.
func (b builder) owns(tags awsx.Tags, recorded bool) bool {
	return b.Owner().Owns(tags) || recorded && len(tags) == 0
}

func (b builder) bucket() *rg.Node {
	return &rg.Node{
		// A second creation does not create a second bucket.
		ID: bucket, Kind: "Bucket", Name: b.Name, ReadsAlone: true, Repeatable: true,
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			tags, exists, err := b.observe(ctx)
			if err != nil || !exists {
				return rg.Observed{}, err
			}
			if !b.owns(tags, l.Recorded) {
				return rg.Observed{}, b.Owner().NotOwned("bucket", b.Name)
			}
			return rg.Observed{ID: b.Name}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			in := &s3.CreateBucketInput{Bucket: b.name}
			if b.Region != "us-east-1" { // S3 refuses this one
				in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.Region)}
			}
			_, err := b.writer.CreateBucket(ctx, in)
			return rg.Observed{ID: b.Name}, err
		},
	}
}

func (b builder) tags() *rg.Node {
	desired := b.Owner().All("", nil)
	put := func(ctx context.Context, tags awsx.Tags) error {
		in := &s3.PutBucketTaggingInput{Bucket: b.name, ExpectedBucketOwner: b.account, Tagging: &types.Tagging{}}
		for _, k := range slices.Sorted(maps.Keys(tags)) {
			in.Tagging.TagSet = append(in.Tagging.TagSet, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
		}
		_, err := b.writer.PutBucketTagging(ctx, in)
		return err
	}
	return &rg.Node{
		ID: "tags", Kind: "Tags", DependsOn: []string{bucket}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return awsgraph.WithTags(nil, desired) },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(bucket) == "" {
				return rg.Observed{}, nil
			}
			tags, exists, err := b.observe(ctx)
			if err != nil || !exists {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: b.Name, Attributes: awsgraph.WithTags(nil, tags)}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: b.Name}, put(ctx, desired)
		},
		Update: func(ctx context.Context, _ rg.Update) error {
			// The call replaces all tags, also tags of others.
			tags, _, err := b.observe(ctx)
			if err != nil {
				return err
			}
			maps.Copy(tags, desired)
			return put(ctx, tags)
		},
	}
}

// publicAccess allows the policy, and blocks access control lists.
func (b builder) publicAccess() *rg.Node {
	put := func(ctx context.Context) error {
		_, err := b.writer.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
			Bucket: b.name, ExpectedBucketOwner: b.account,
			PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
				BlockPublicAcls: aws.Bool(true), IgnorePublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(false), RestrictPublicBuckets: aws.Bool(false),
			},
		})
		return err
	}
	return &rg.Node{
		ID: "public-access", Kind: "Public access settings", DependsOn: []string{bucket}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes {
			return rg.Attributes{"block access control lists": "true", "ignore access control lists": "true", "block public policies": "false", "restrict public policies": "false"}
		},
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(bucket) == "" {
				return rg.Observed{}, nil
			}
			var current types.PublicAccessBlockConfiguration
			answer, err := b.reader.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: b.name, ExpectedBucketOwner: b.account})
			switch {
			case err == nil && answer.PublicAccessBlockConfiguration != nil:
				current = *answer.PublicAccessBlockConfiguration
			case err != nil && awsx.Code(err) != "NoSuchPublicAccessBlockConfiguration":
				return rg.Observed{}, fmt.Errorf("reading the public access settings of bucket %s: %w", b.Name, err)
			}
			value := func(v *bool) string { return strconv.FormatBool(aws.ToBool(v)) }
			return rg.Observed{ID: b.Name, Attributes: rg.Attributes{
				"block access control lists": value(current.BlockPublicAcls), "ignore access control lists": value(current.IgnorePublicAcls),
				"block public policies": value(current.BlockPublicPolicy), "restrict public policies": value(current.RestrictPublicBuckets),
			}}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: b.Name}, put(ctx)
		},
		Update: func(ctx context.Context, _ rg.Update) error { return put(ctx) },
	}
}

// policy lets everyone read the documents.
func (b builder) policy() *rg.Node {
	desired := iamrole.Document(map[string]any{
		"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": fmt.Sprintf("arn:%s:s3:::%s/*", b.Partition, b.Name),
	})
	put := func(ctx context.Context) error {
		_, err := b.writer.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: b.name, ExpectedBucketOwner: b.account, Policy: aws.String(desired)})
		return err
	}
	return &rg.Node{
		ID: "policy", Kind: "Policy of the bucket", DependsOn: []string{bucket, "public-access"}, Repeatable: true,
		Desired: func(rg.IDs) rg.Attributes { return rg.Attributes{"document": desired} },
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			if l.IDs(bucket) == "" {
				return rg.Observed{}, nil
			}
			answer, err := b.reader.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: b.name, ExpectedBucketOwner: b.account})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil {
				return rg.Observed{}, fmt.Errorf("reading the policy of bucket %s: %w", b.Name, err)
			}
			return rg.Observed{ID: b.Name, Attributes: rg.Attributes{"document": iamrole.Normalize(aws.ToString(answer.Policy))}}, nil
		},
		Create: func(ctx context.Context, _ rg.Creation) (rg.Observed, error) {
			return rg.Observed{ID: b.Name}, put(ctx)
		},
		Update: func(ctx context.Context, _ rg.Update) error { return put(ctx) },
	}
}

// Discover finds the bucket for its deletion. recorded reports whether the creation of a node is recorded. kept is why the bucket stays:
// it is not ours, or it has documents of clusters.
func (c *Cloud) Discover(ctx context.Context, s Spec, recorded func(node string) bool) (_ *rg.Graph, kept []string, _ error) {
	b := builder{Cloud: c, Spec: s, name: &s.Name, account: &s.Account}
	tags, exists, err := b.observe(ctx)
	if err != nil {
		return nil, nil, err
	}
	var nodes []*rg.Node
	if exists {
		objects, err := c.reader.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: b.name, ExpectedBucketOwner: b.account, MaxKeys: aws.Int32(1)})
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("listing the objects of bucket %s: %w", s.Name, err)
		case !b.owns(tags, recorded(bucket)):
			kept = append(kept, s.Owner().NotOwned("bucket", s.Name).Error())
		case len(objects.Contents) > 0:
			kept = append(kept, fmt.Sprintf("bucket %s: it has documents of hosted clusters, such as %s, with which AWS checks their tokens: delete the hosted clusters first",
				s.Name, aws.ToString(objects.Contents[0].Key)))
		default:
			nodes = append(nodes, iamrole.Existing(bucket, "Bucket", s.Name, s.Name, func(ctx context.Context) error {
				_, err := c.writer.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: b.name, ExpectedBucketOwner: b.account})
				return err
			}))
		}
	}
	graph, err := rg.New(nodes...)
	return graph, kept, err
}
