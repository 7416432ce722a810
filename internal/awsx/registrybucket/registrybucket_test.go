package registrybucket_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// The name is valid whatever the infra ID is, stays the same, and has the prefix that the policy allows.
func TestName(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)
	for _, infraID := range []string{"demo-x7k2p", "Demo", strings.Repeat("a", 32), strings.Repeat("b", 253)} {
		name := registrybucket.Name(infraID, "1c4f9a9e-6f0f-4a6c-8a8d-3c7a1a1f0b7e")
		if !valid.MatchString(name) || !strings.HasPrefix(name, registrybucket.Prefix(infraID)) {
			t.Errorf("the name for %s is %s", infraID, name)
		}
	}
	if got, want := registrybucket.Name("demo-x7k2p", "1c4f9a9e-6f0f-4a6c-8a8d-3c7a1a1f0b7e"), "demo-x7k2p-image-registry-60ff9200"; got != want {
		t.Errorf("the name is %s, want %s: clusters have buckets with the former name", got, want)
	}
	if a, b := registrybucket.Name("demo", "1"), registrybucket.Name("demo", "2"); a == b {
		t.Errorf("two clusters have the name %s", a)
	}
}

func TestAccountOf(t *testing.T) {
	got, err := registrybucket.AccountOf("arn:aws-us-gov:iam::111111111111:role/path/demo")
	if err != nil || got != (registrybucket.Account{Partition: "aws-us-gov", ID: "111111111111"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := registrybucket.AccountOf("demo"); err == nil {
		t.Error("a name without an account is accepted")
	}
}

// racing is S3 with a call of another client before the bucket is deleted.
type racing struct {
	registrybucket.API
	before func(context.Context)
}

func (r *racing) DeleteBucket(ctx context.Context, in *s3.DeleteBucketInput, opts ...func(*s3.Options)) (*s3.DeleteBucketOutput, error) {
	r.before(ctx)
	return r.API.DeleteBucket(ctx, in, opts...)
}

// A push that is not finished while the bucket is being deleted lets the next pass continue.
func TestPushDuringTheDeletion(t *testing.T) {
	const bucket, region = "demo-image-registry-1", "us-east-1"
	ctx := t.Context()
	cloud := fakeaws.New(clocktesting.NewFakeClock(time.Unix(1e9, 0))).FailOn(t)
	account := cloud.Account("111111111111")
	account.AddBucket(region, bucket)
	api := s3.NewFromConfig(account.Config(region, "admin"))
	for name, push := range map[string]func(context.Context) error{
		"an object": func(ctx context.Context) error {
			_, err := api.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("blob"), Body: strings.NewReader("layer")})
			return err
		},
		"an upload": func(ctx context.Context) error {
			_, err := api.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: aws.String("upload")})
			return err
		},
	} {
		r := &racing{API: api, before: func(ctx context.Context) {
			if err := push(ctx); err != nil {
				t.Fatal(err)
			}
		}}
		spec := registrybucket.Spec{Name: bucket, Region: region, Account: registrybucket.Account{Partition: "aws", ID: "111111111111"}, InfraID: "demo", Stage: registrybucket.Complete}
		if err := registrybucket.New(r, spec).Delete(ctx); !errors.Is(err, registrybucket.ErrNotEmpty) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The bucket may also be gone before.
	r := &racing{API: api, before: func(context.Context) { account.RemoveBucket(bucket) }}
	spec := registrybucket.Spec{Name: bucket, Region: region, Account: registrybucket.Account{Partition: "aws", ID: "111111111111"}, InfraID: "demo", Stage: registrybucket.Complete}
	if err := registrybucket.New(r, spec).Delete(ctx); err != nil {
		t.Error(err)
	}
	if left := cloud.Snapshot(); left != "" {
		t.Errorf("left:\n%s", left)
	}
}
