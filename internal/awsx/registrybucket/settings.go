package registrybucket

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// tag adds the missing tags. The call replaces all tags, also tags of others.
func (b *Bucket) tag(ctx context.Context, current, missing awsx.Tags) error {
	all := maps.Clone(current)
	maps.Copy(all, missing)
	in := &s3.PutBucketTaggingInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID, Tagging: &types.Tagging{}}
	for _, key := range all.Keys() {
		in.Tagging.TagSet = append(in.Tagging.TagSet, types.Tag{Key: aws.String(key), Value: aws.String(all[key])})
	}
	return b.wrote(ctx, "tags", func() error {
		_, err := b.api.PutBucketTagging(ctx, in)
		return err
	})
}

// wrote writes a setting, and logs it: at rest there are no writes.
func (b *Bucket) wrote(ctx context.Context, setting string, put func() error) error {
	ctrl.LoggerFrom(ctx).Info("Changing the bucket of the image registry", "bucket", b.Name, "setting", setting)
	if err := put(); err != nil {
		return fmt.Errorf("changing the %s of bucket %s: %w", setting, b.Name, err)
	}
	return nil
}

// read returns the error of reading a setting. A setting that does not exist is no error.
func (b *Bucket) read(setting string, err error) error {
	if err == nil || awsx.IsNotFound(err) && !IsNoBucket(err) {
		return nil
	}
	return fmt.Errorf("reading the %s of bucket %s: %w", setting, b.Name, err)
}

// ensurePublicAccessBlock blocks access control lists and policies that make objects public.
func (b *Bucket) ensurePublicAccessBlock(ctx context.Context) error {
	const setting = "public access block"
	desired := types.PublicAccessBlockConfiguration{
		BlockPublicAcls: aws.Bool(true), IgnorePublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
	}
	out, err := b.api.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
	if err := b.read(setting, err); err != nil {
		return err
	}
	if err == nil && out.PublicAccessBlockConfiguration != nil && reflect.DeepEqual(*out.PublicAccessBlockConfiguration, desired) {
		return nil
	}
	return b.wrote(ctx, setting, func() error {
		_, err := b.api.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
			Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID, PublicAccessBlockConfiguration: &desired,
		})
		return err
	})
}

// ensureEncryption encrypts objects with keys of S3, which cost nothing and need no permission.
func (b *Bucket) ensureEncryption(ctx context.Context) error {
	const setting = "encryption"
	out, err := b.api.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
	if err := b.read(setting, err); err != nil {
		return err
	}
	if err == nil && out.ServerSideEncryptionConfiguration != nil && isEncrypted(out.ServerSideEncryptionConfiguration.Rules) {
		return nil
	}
	return b.wrote(ctx, setting, func() error {
		_, err := b.api.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
			Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID,
			ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{{
				ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256}, BucketKeyEnabled: aws.Bool(true),
			}}},
		})
		return err
	})
}

// isEncrypted ignores other fields of the rule, which S3 sets on its own.
func isEncrypted(rules []types.ServerSideEncryptionRule) bool {
	return len(rules) == 1 && rules[0].ApplyServerSideEncryptionByDefault != nil &&
		rules[0].ApplyServerSideEncryptionByDefault.SSEAlgorithm == types.ServerSideEncryptionAes256 && aws.ToBool(rules[0].BucketKeyEnabled)
}

// ruleID is the id of the only rule of the lifecycle.
const ruleID = "abort-incomplete-uploads"

// ensureLifecycle aborts uploads a day after their start. A push that broke off leaves one.
func (b *Bucket) ensureLifecycle(ctx context.Context) error {
	const setting = "lifecycle"
	desired := types.LifecycleRule{
		ID: aws.String(ruleID), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
		AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(1)},
	}
	out, err := b.api.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
	if err := b.read(setting, err); err != nil {
		return err
	}
	if err == nil && len(out.Rules) == 1 && reflect.DeepEqual(withFilter(out.Rules[0]), desired) {
		return nil
	}
	return b.wrote(ctx, setting, func() error {
		_, err := b.api.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
			Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{desired}},
		})
		return err
	})
}

// withFilter returns a rule with the empty prefix in its filter. S3 may return a filter for all objects without one.
func withFilter(rule types.LifecycleRule) types.LifecycleRule {
	if rule.Filter != nil && reflect.DeepEqual(*rule.Filter, types.LifecycleRuleFilter{}) {
		rule.Filter = &types.LifecycleRuleFilter{Prefix: aws.String("")}
	}
	return rule
}

// policy denies calls without TLS, to the bucket and to its objects.
func (b *Bucket) policy() string {
	bucket := fmt.Sprintf("arn:%s:s3:::%s", b.Account.Partition, b.Name)
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Sid": "DenyWithoutTLS", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": []string{bucket, bucket + "/*"},
		"Condition": map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}},
	}}})
	if err != nil {
		panic(err) // strings, maps and lists always marshal
	}
	return string(text)
}

func (b *Bucket) ensurePolicy(ctx context.Context) error {
	const setting = "policy"
	desired := b.policy()
	out, err := b.api.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID})
	if err := b.read(setting, err); err != nil {
		return err
	}
	if err == nil && isSamePolicy(aws.ToString(out.Policy), desired) {
		return nil
	}
	return b.wrote(ctx, setting, func() error {
		_, err := b.api.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account.ID, Policy: &desired})
		return err
	})
}

// isSamePolicy compares two documents, whatever their spaces and the order of their keys.
func isSamePolicy(current, desired string) bool {
	var parsed [2]any
	for i, text := range []string{current, desired} {
		if json.Unmarshal([]byte(text), &parsed[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(parsed[0], parsed[1])
}
