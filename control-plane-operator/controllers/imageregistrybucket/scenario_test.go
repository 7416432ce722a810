package imageregistrybucket

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// settings are parts of the line of a bucket that has all settings.
func (e *customer) settings() []string {
	return []string{
		testenv.Customer + " bucket demo-x-image-registry-", " Name=" + e.bucket, " kubernetes.io/cluster/demo-x=owned", " team=shop", " hypershift.openshift.io/role=image-registry",
		`"BlockPublicAcls":true,"BlockPublicPolicy":true,"IgnorePublicAcls":true,"RestrictPublicBuckets":true`,
		`"SSEAlgorithm":"AES256"`, `"BucketKeyEnabled":true`, `"DaysAfterInitiation":1`,
		`"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny","Principal":"*","Resource":["arn:aws:s3:::` + e.bucket + `","arn:aws:s3:::` + e.bucket + `/*"]`,
	}
}

// wantBucket fails the test unless the bucket exists with all settings and these parts.
func (e *customer) wantBucket(parts ...string) {
	e.T.Helper()
	for _, part := range append(e.settings(), parts...) {
		if !strings.Contains(e.state(), part) {
			e.T.Errorf("%q is missing in\n%s", part, e.state())
		}
	}
}

func TestBucket(t *testing.T) {
	owned := map[string]string{names.ClusterTag(testenv.InfraID): "owned", "hypershift.openshift.io/owner": "uid-of-another-management-cluster", "cost": "42"}
	for name, c := range map[string]struct {
		change func(*hyperv1.HostedControlPlane)
		// before prepares the account.
		before func(*customer)
		status metav1.ConditionStatus
		reason string
		words  []string
		// bucket is true if the bucket is to have all settings, with these parts. Otherwise AWS is not changed.
		bucket bool
		parts  []string
		// stays is true if the bucket exists after the deletion.
		stays bool
	}{
		"a new bucket": {status: "True", reason: hyperv1.AsExpectedReason, bucket: true},
		"no role": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.RolesRef.ImageRegistryARN = "" },
			status: "False", reason: hyperv1.NoImageRegistryRoleReason, words: []string{"platform.aws.rolesRef.imageRegistryARN"},
		},
		"a role that does not exist": {
			change: func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Platform.AWS.RolesRef.ImageRegistryARN = "arn:aws:iam::" + testenv.Customer + ":role/missing"
			},
			status: "False", reason: "AWSIdentityInvalid",
		},
		"a bucket of another account": {
			before: func(e *customer) { e.AWS.Account(other).AddBucket(testenv.Region, e.bucket) },
			status: "False", reason: hyperv1.BucketClaimedReason, words: []string{"another account"}, stays: true,
		},
		"a bucket without tags": {
			before: func(e *customer) { e.account.AddBucket(testenv.Region, e.bucket) },
			status: "False", reason: hyperv1.BucketClaimedReason, words: []string{"does not have the tag"}, stays: true,
		},
		"a bucket of another cluster": {
			before: func(e *customer) {
				e.account.AddBucket(testenv.Region, e.bucket)
				e.tag(map[string]string{names.ClusterTag("other"): "owned"})
				e.push(3)
			},
			status: "False", reason: hyperv1.BucketClaimedReason, words: []string{"does not have the tag"}, stays: true,
		},
		"a cluster that was moved from another management cluster": {
			before: func(e *customer) {
				e.account.AddBucket(testenv.Region, e.bucket)
				e.tag(owned)
				e.push(3)
			},
			status: "True", reason: hyperv1.AsExpectedReason, bucket: true, parts: []string{" cost=42", "s3://", "upload of 0 parts"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomer(t)
			if c.change != nil {
				e.ChangeHCP(c.change)
			}
			if c.before != nil {
				c.before(e)
			}
			before := e.state()
			e.RunPasses(3)
			e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, c.status, c.reason, c.words...)
			record := e.HCP().Status.ImageRegistry
			if ready := record != nil && aws.ToBool(record.Ready); ready != c.bucket {
				t.Errorf("ready is %t", ready)
			}
			if c.bucket {
				e.wantBucket(c.parts...)
			} else if got := e.state(); got != before {
				t.Errorf("the bucket was\n%s\nand is\n%s", before, got)
			}
			e.Delete(e.Object)
			e.RunPasses(3)
			if name == "a role that does not exist" { // the hypershift-operator removes the finalizer
				return
			}
			want := ""
			if c.stays {
				want = before
			}
			if got := e.state(); got != want || e.Exists(testenv.HostedControlPlane()) {
				t.Errorf("left after deletion:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// A claim ends when the other bucket is deleted.
func TestClaimEnds(t *testing.T) {
	e := newCustomer(t)
	e.AWS.Account(other).AddBucket(testenv.Region, e.bucket)
	e.RunPasses(2)
	e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "False", hyperv1.BucketClaimedReason)
	e.AWS.Account(other).RemoveBucket(e.bucket)
	e.RunPasses(1)
	e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "True", hyperv1.AsExpectedReason)
	e.wantBucket()
}

// A region other than us-east-1 has a location constraint, and refuses the second creation of a bucket.
func TestOtherRegions(t *testing.T) {
	e := newCustomer(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.Region = "eu-central-1" })
	heal := e.AWS.Fault(fakeaws.Fault{Operation: "CreateBucket", Kind: fakeaws.AnswerLost})
	e.RunPasses(2)
	heal()
	e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "True", hyperv1.AsExpectedReason)
	e.wantBucket(" in eu-central-1 ")
}

// At rest the bucket is read once in a period and nothing is written. Drift is repaired then.
func TestDrift(t *testing.T) {
	e := newCustomer(t)
	e.RunPasses(1)
	before := e.state()
	e.AWS.ForgetCalls()
	e.RunPasses(1)
	reads := []string{"s3:GetBucketEncryption", "s3:GetBucketLifecycleConfiguration", "s3:GetBucketPolicy", "s3:GetBucketTagging", "s3:GetPublicAccessBlock"}
	for call, n := range fakeaws.Count(e.AWS.Calls()) {
		if strings.HasPrefix(call, "s3:") && (n != 1 || !slices.Contains(reads, call)) {
			t.Errorf("%d calls of %s in a period", n, call)
		}
	}
	if e.RequeueAfter < resync/2 {
		t.Errorf("the next pass is after %s", e.RequeueAfter)
	}
	for name, drift := range map[string]func(context.Context, *s3.Client) error{
		"a tag": func(context.Context, *s3.Client) error {
			e.tag(map[string]string{names.ClusterTag(testenv.InfraID): "owned"})
			return nil
		},
		"all tags": func(context.Context, *s3.Client) error {
			e.tag(nil)
			return nil
		},
		"public access": func(ctx context.Context, api *s3.Client) error {
			_, err := api.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{Bucket: &e.bucket, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{BlockPublicAcls: aws.Bool(true)}})
			return err
		},
		"encryption": func(ctx context.Context, api *s3.Client) error {
			_, err := api.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{Bucket: &e.bucket, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
				Rules: []types.ServerSideEncryptionRule{{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAwsKms}}},
			}})
			return err
		},
		"a rule that deletes images": func(ctx context.Context, api *s3.Client) error {
			_, err := api.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: &e.bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{
				Rules: []types.LifecycleRule{{Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{}, Expiration: &types.LifecycleExpiration{Days: aws.Int32(30)}}},
			}})
			return err
		},
		"a policy without TLS": func(ctx context.Context, api *s3.Client) error {
			_, err := api.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &e.bucket, Policy: aws.String(
				`{"Statement": [{"Effect": "Allow", "Principal": {"AWS": "` + other + `"}, "Action": "s3:GetObject", "Resource": ["arn:aws:s3:::` + e.bucket + `/*"]}]}`)})
			return err
		},
		"no bucket": func(context.Context, *s3.Client) error {
			e.account.RemoveBucket(e.bucket)
			return nil
		},
	} {
		e.Must(drift(t.Context(), e.s3()))
		if e.state() == before {
			t.Errorf("%s: no drift", name)
		}
		e.RunPasses(1)
		if got := e.state(); got != before {
			t.Errorf("%s is not repaired:\n%s\nwant:\n%s", name, got, before)
		}
	}
}

// The images of a living cluster are never deleted.
func TestBucketStaysWithoutTheCapability(t *testing.T) {
	e := newCustomer(t)
	e.RunPasses(1)
	e.push(2)
	before := e.state()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Capabilities, hcp.Spec.Platform.AWS.RolesRef.ImageRegistryARN = nil, ""
	})
	e.AWS.ForgetCalls()
	e.RunPasses(2)
	e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "True", hyperv1.BucketKeptReason, e.bucket)
	if got, calls := e.state(), e.AWS.Calls(); got != before || len(calls) > 0 {
		t.Errorf("the bucket was\n%s\nand is\n%s\nafter %v", before, got, calls)
	}
	e.Delete(e.Object)
	e.RunPasses(2)
	if left := e.state(); left != "" || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left after deletion:\n%s", left)
	}
}

// A recorded bucket keeps its name.
func TestRecordedNameStays(t *testing.T) {
	e := newCustomer(t)
	e.RunPasses(1)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ClusterID = "another" })
	e.RunPasses(1)
	if lines := e.AWSLines(" bucket "); len(lines) != 1 || e.HCP().Status.ImageRegistry.Bucket != e.bucket {
		t.Errorf("%v", lines)
	}
}

func TestDeletion(t *testing.T) {
	annotated := func(key, value string) func(*hyperv1.HostedControlPlane) {
		return func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations = map[string]string{key: value} }
	}
	for name, c := range map[string]struct {
		change func(*hyperv1.HostedControlPlane)
		passes int
		stays  bool
	}{
		"2500 objects":                           {passes: 2},
		"the user removes cloud resources":       {change: annotated(hyperv1.CleanupCloudResourcesAnnotation, "true"), passes: 2},
		"the user keeps cloud resources":         {change: annotated(hyperv1.CleanupCloudResourcesAnnotation, "false"), passes: 2, stays: true},
		"another management cluster has it":      {change: annotated(hyperv1.HandedOverAnnotation, "true"), passes: 2, stays: true},
		"an annotation that is no boolean value": {change: annotated(hyperv1.CleanupCloudResourcesAnnotation, "later"), passes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomer(t)
			e.RunPasses(1)
			e.push(2500)
			for i := range 700 { // a user has enabled versioning
				e.account.AddVersion(e.bucket, fmt.Sprintf("docker/registry/v2/blobs/%05d", i), "v1", false)
				e.account.AddVersion(e.bucket, fmt.Sprintf("docker/registry/v2/blobs/%05d", 5000+i), "v2", true)
			}
			if c.change != nil {
				e.ChangeHCP(c.change)
			}
			before := e.state()
			e.AWS.ForgetCalls()
			e.Delete(e.Object)
			e.RunPasses(c.passes)
			want := ""
			if c.stays {
				want = before
			}
			if got := e.state(); got != want || e.Exists(testenv.HostedControlPlane()) {
				t.Errorf("%d lines are left after deletion, want %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
			}
			calls := fakeaws.Count(e.AWS.Calls())
			if c.stays && len(calls) > 0 || !c.stays && calls["s3:DeleteObjects"] != 4 {
				t.Errorf("calls: %v", calls)
			}
		})
	}
}

// A pass deletes a bounded number of objects, and the next one follows soon. The condition is not False: that would be a refusal.
func TestLargeBucketIsDeletedInSeveralPasses(t *testing.T) {
	e := newCustomer(t)
	e.RunPasses(1)
	e.push(250)
	e.AWS.SetPageSize(10)
	e.Delete(e.Object)
	e.RunPasses(1)
	if left := len(e.AWSLines("s3://")); left != 50 || e.RequeueAfter > time.Minute {
		t.Errorf("%d objects are left, the next pass is after %s", left, e.RequeueAfter)
	}
	e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "True", hyperv1.AsExpectedReason)
	e.RunPasses(1)
	if left := e.state(); left != "" || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left after deletion:\n%s", left)
	}
}

// An object that cannot be deleted is an error.
func TestObjectsWithALegalHold(t *testing.T) {
	e := newCustomer(t)
	e.RunPasses(1)
	e.push(3)
	const key = "docker/registry/v2/blobs/00001"
	e.account.Hold(e.bucket, key, true)
	e.Delete(e.Object)
	e.RunPasses(2)
	e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "False", "AWSAccessDenied", key, "object lock")
	e.account.Hold(e.bucket, key, false)
	e.RunPasses(2)
	if left := e.state(); left != "" || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left after deletion:\n%s", left)
	}
}

func TestNoCallsWithoutTheCapability(t *testing.T) {
	e := newCustomer(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = nil })
	e.RunPasses(2)
	if calls, hcp := e.AWS.Calls(), e.HCP(); len(calls) > 0 || len(hcp.Finalizers) > 0 || hcp.Status.ImageRegistry != nil ||
		meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ImageRegistryBucketAvailable) != nil {
		t.Errorf("calls %v, finalizers %v, status %+v", calls, hcp.Finalizers, hcp.Status)
	}
}

func TestPausedCluster(t *testing.T) {
	e := newCustomer(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		paused := hyperv1.PausedUntil("true")
		hcp.Spec.PausedUntil = &paused
	})
	e.RunPasses(2)
	if calls := e.AWS.Calls(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
}
