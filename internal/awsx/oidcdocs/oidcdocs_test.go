package oidcdocs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region    = "us-east-1"
	account   = "111111111111"
	bucket    = "documents"
	discovery = "demo-x/.well-known/openid-configuration"
	jwks      = "demo-x/openid/v1/jwks"
)

// bucketAccount is an account with a bucket.
type bucketAccount struct {
	*testenv.Env
	*oidcdocs.Bucket
	s3 *s3.Client
}

var site = oidcdocs.Site{Prefix: "demo-x", Owner: "uid-1", Documents: map[string][]byte{
	".well-known/openid-configuration": []byte(`{"issuer":"x"}`),
	"openid/v1/jwks":                   []byte(`{"keys":[]}`),
}}

func newBucketAccount(t *testing.T) *bucketAccount {
	e := &bucketAccount{Env: testenv.New(t)}
	e.AWS.Account(account).AddBucket(region, bucket)
	e.s3 = oidcdocs.NewClient(e.AWS.Account(account).Config(region, "hypershift-operator"))
	e.Bucket = oidcdocs.New(e.s3, bucket)
	return e
}

func (e *bucketAccount) publish() (changed bool) {
	e.T.Helper()
	changed, err := e.Publish(e.T.Context(), site)
	e.Must(err)
	return changed
}

func (e *bucketAccount) want(key, text string) {
	e.T.Helper()
	if got, ok := e.AWS.Object(bucket, key); string(got) != text || ok != (text != "") {
		e.T.Errorf("%s is %q (there: %v), want %q", key, got, ok, text)
	}
}

// put writes an object as another client.
func (e *bucketAccount) put(key, text string, metadata map[string]string) {
	e.T.Helper()
	_, err := e.s3.PutObject(e.T.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: strings.NewReader(text), Metadata: metadata})
	e.Must(err)
}

func TestDocumentsArePublishedOnceAndRepaired(t *testing.T) {
	e := newBucketAccount(t)
	if !e.publish() {
		t.Error("nothing was published")
	}
	if e.publish() {
		t.Error("published again without need")
	}
	e.put(jwks, "spoiled", map[string]string{"hypershift-owner": "uid-1"})
	_, err := e.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(discovery)})
	e.Must(err)
	if !e.publish() {
		t.Error("nothing was repaired")
	}
	e.want(discovery, `{"issuer":"x"}`)
	e.want(jwks, `{"keys":[]}`)
}

func TestRemove(t *testing.T) {
	e := newBucketAccount(t)
	e.publish()
	e.put("demo-y/openid/v1/jwks", "theirs", nil)
	for range 2 {
		e.Must(e.Remove(t.Context(), site))
	}
	e.want(discovery, "")
	e.want(jwks, "")
	e.want("demo-y/openid/v1/jwks", "theirs")
}

func TestDocumentsOfAnotherClusterAreLeftAlone(t *testing.T) {
	for name, metadata := range map[string]map[string]string{
		"owned by another cluster": {"hypershift-owner": "uid-2"},
		"without an owner":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			e := newBucketAccount(t)
			e.put(discovery, "theirs", metadata)
			var foreign *oidcdocs.ForeignError
			if _, err := e.Publish(t.Context(), site); !errors.As(err, &foreign) {
				t.Errorf("error %v, want a ForeignError", err)
			}
			if err := e.Remove(t.Context(), site); err != nil {
				t.Error(err)
			}
			e.want(discovery, "theirs")
		})
	}
}

// A cluster that has moved has another owner. It proves that the documents are its own by a key in them.
func TestDocumentsOfAMovedClusterAreTakenOver(t *testing.T) {
	e := newBucketAccount(t)
	e.publish()
	moved := site
	moved.Owner = "uid-2"
	for _, tc := range []struct {
		proof bool
		want  error
	}{{false, &oidcdocs.ForeignError{}}, {true, nil}} {
		moved.Proves = func(existing map[string][]byte) bool { return tc.proof && len(existing) == len(site.Documents) }
		_, err := e.Publish(t.Context(), moved)
		if (err != nil) != (tc.want != nil) {
			t.Errorf("proof %v: %v", tc.proof, err)
		}
	}
	e.Must(e.Remove(t.Context(), site))
	e.want(discovery, `{"issuer":"x"}`)
	e.Must(e.Remove(t.Context(), moved))
	e.want(discovery, "")
}

func TestOwnContentWithoutAnOwnerIsAdopted(t *testing.T) {
	e := newBucketAccount(t)
	e.put(discovery, `{"issuer":"x"}`, nil)
	e.publish()
	e.Must(e.Remove(t.Context(), site))
	e.want(discovery, "")
}

func TestAMissingBucket(t *testing.T) {
	e := newBucketAccount(t)
	e.publish()
	e.AWS.Account(account).RemoveBucket(bucket)
	if _, err := e.Publish(t.Context(), site); !oidcdocs.IsNoBucket(err) {
		t.Errorf("error %v, want to hear of the bucket", err)
	}
	if err := e.Remove(t.Context(), site); err != nil {
		t.Errorf("nothing to remove from a bucket that is gone, got %v", err)
	}
}

func TestABucketThatIsNotOurs(t *testing.T) {
	e := newBucketAccount(t)
	e.AWS.Account("222222222222").AddBucket(region, "theirs")
	if _, err := oidcdocs.New(e.s3, "theirs").Publish(t.Context(), site); !awsx.IsDenied(err) {
		t.Errorf("error %v, want it denied", err)
	}
}
