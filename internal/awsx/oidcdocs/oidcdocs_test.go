package oidcdocs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const (
	region    = "us-east-1"
	account   = "111111111111"
	bucket    = "documents"
	discovery = "demo-x/.well-known/openid-configuration"
	jwks      = "demo-x/openid/v1/jwks"
)

type testEnv struct {
	*fakeaws.Cloud
	*oidcdocs.Bucket
	s3 *s3.Client
}

var site = oidcdocs.Site{Prefix: "demo-x", Owner: "uid-1", Documents: map[string][]byte{
	".well-known/openid-configuration": []byte(`{"issuer":"x"}`),
	"openid/v1/jwks":                   []byte(`{"keys":[]}`),
}}

func newTestEnv(t *testing.T) *testEnv {
	w := &testEnv{Cloud: fakeaws.New(clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))).FailOn(t)}
	w.Account(account).AddBucket(region, bucket)
	w.s3 = oidcdocs.NewClient(w.Account(account).Config(region, "hypershift-operator"))
	w.Bucket = oidcdocs.New(w.s3, bucket)
	return w
}

func (w *testEnv) publish(t *testing.T) (changed bool) {
	t.Helper()
	changed, err := w.Publish(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func (w *testEnv) want(t *testing.T, key, text string) {
	t.Helper()
	if got, ok := w.Object(bucket, key); string(got) != text || ok != (text != "") {
		t.Errorf("%s is %q (there: %v), want %q", key, got, ok, text)
	}
}

// put writes an object as another client.
func (w *testEnv) put(t *testing.T, key, text string, metadata map[string]string) {
	t.Helper()
	_, err := w.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: strings.NewReader(text), Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDocumentsArePublishedOnceAndRepaired(t *testing.T) {
	w := newTestEnv(t)
	if !w.publish(t) {
		t.Error("nothing was published")
	}
	if w.publish(t) {
		t.Error("published again without need")
	}
	w.put(t, jwks, "spoiled", map[string]string{"hypershift-owner": "uid-1"})
	_, err := w.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(discovery)})
	if err != nil {
		t.Fatal(err)
	}
	if !w.publish(t) {
		t.Error("nothing was repaired")
	}
	w.want(t, discovery, `{"issuer":"x"}`)
	w.want(t, jwks, `{"keys":[]}`)
}

func TestRemove(t *testing.T) {
	w := newTestEnv(t)
	w.publish(t)
	w.put(t, "demo-y/openid/v1/jwks", "theirs", nil)
	for range 2 {
		if err := w.Remove(t.Context(), site); err != nil {
			t.Fatal(err)
		}
	}
	w.want(t, discovery, "")
	w.want(t, jwks, "")
	w.want(t, "demo-y/openid/v1/jwks", "theirs")
}

func TestDocumentsOfAnotherClusterAreLeftAlone(t *testing.T) {
	for name, metadata := range map[string]map[string]string{
		"owned by another cluster": {"hypershift-owner": "uid-2"},
		"without an owner":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.put(t, discovery, "theirs", metadata)
			var foreign *oidcdocs.ForeignError
			if _, err := w.Publish(t.Context(), site); !errors.As(err, &foreign) {
				t.Errorf("error %v, want a ForeignError", err)
			}
			if err := w.Remove(t.Context(), site); err != nil {
				t.Error(err)
			}
			w.want(t, discovery, "theirs")
		})
	}
}

func TestOwnContentWithoutAnOwnerIsAdopted(t *testing.T) {
	w := newTestEnv(t)
	w.put(t, discovery, `{"issuer":"x"}`, nil)
	w.publish(t)
	if err := w.Remove(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	w.want(t, discovery, "")
}

func TestAMissingBucket(t *testing.T) {
	w := newTestEnv(t)
	w.publish(t)
	w.Account(account).RemoveBucket(bucket)
	if _, err := w.Publish(t.Context(), site); !oidcdocs.IsNoBucket(err) {
		t.Errorf("error %v, want to hear of the bucket", err)
	}
	if err := w.Remove(t.Context(), site); err != nil {
		t.Errorf("nothing to remove from a bucket that is gone, got %v", err)
	}
}

func TestABucketThatIsNotOurs(t *testing.T) {
	w := newTestEnv(t)
	w.Account("222222222222").AddBucket(region, "theirs")
	if _, err := oidcdocs.New(w.s3, "theirs").Publish(t.Context(), site); !awsx.IsDenied(err) {
		t.Errorf("error %v, want it denied", err)
	}
}
