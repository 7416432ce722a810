package imageregistrybucket

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	resync    = 30 * time.Minute
	clusterID = "1c4f9a9e-6f0f-4a6c-8a8d-3c7a1a1f0b7e"
	roleName  = "demo-image-registry"
	// other is another account.
	other = "333333333333"
)

// customer is a control plane with the capability, and the account of its customer.
type customer struct {
	*testenv.Env
	account *fakeaws.Account
	// bucket is the name of the cluster's bucket.
	bucket string
}

func newCustomer(t testing.TB) *customer {
	e := &customer{Env: testenv.New(t, testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	e.account, _ = e.CustomerAccount()
	role := e.account.AddRole(testenv.TrustingRole(roleName, names.ImageRegistrySubject))
	e.bucket = registrybucket.Name(testenv.InfraID, clusterID)
	hcp := testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.ImageRegistryCapability}}
		hcp.Spec.ClusterID = clusterID
		hcp.Spec.Platform.AWS.RolesRef.ImageRegistryARN = hyperv1.RoleARN(role)
		hcp.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "shop"}}
	})
	e.Create(testenv.SigningKeySecret(), hcp)
	e.Object, e.Start = hcp, e.start
	e.Restart()
	return e
}

func (e *customer) start() testenv.Pass {
	signer, sessions := e.Sessions()
	r := New(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Clock: e.Clock, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resync,
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, r.ReconcileObject)
}

// state returns the lines of AWS's state about buckets.
func (e *customer) state() string {
	return strings.Join(append(e.AWSLines(" bucket "), e.AWSLines("s3://")...), "\n")
}

// s3 is S3 as the administrator of the account has it.
func (e *customer) s3() *s3.Client {
	return s3.NewFromConfig(e.account.Config(testenv.Region, "admin"))
}

// tag replaces the tags of the bucket.
func (e *customer) tag(tags map[string]string) {
	e.T.Helper()
	in := &s3.PutBucketTaggingInput{Bucket: &e.bucket, Tagging: &types.Tagging{TagSet: []types.Tag{}}}
	for k, v := range tags {
		in.Tagging.TagSet = append(in.Tagging.TagSet, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	_, err := e.s3().PutBucketTagging(e.T.Context(), in)
	e.Must(err)
}

// push writes objects to the bucket, and begins an upload.
func (e *customer) push(objects int) {
	e.T.Helper()
	for i := range objects {
		_, err := e.s3().PutObject(e.T.Context(), &s3.PutObjectInput{Bucket: &e.bucket, Key: aws.String(fmt.Sprintf("docker/registry/v2/blobs/%05d", i)), Body: strings.NewReader("layer")})
		e.Must(err)
	}
	_, err := e.s3().CreateMultipartUpload(e.T.Context(), &s3.CreateMultipartUploadInput{Bucket: &e.bucket, Key: aws.String("docker/registry/v2/uploads/1")})
	e.Must(err)
}
