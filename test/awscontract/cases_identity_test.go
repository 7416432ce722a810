package awscontract

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

func (r *run) put(key string, body []byte) {
	_, err := r.provider.s3.PutObject(r.ctx, &s3.PutObjectInput{Bucket: &r.bucket, Key: &key, Body: bytes.NewReader(body), ContentType: aws.String("application/json")})
	r.ok("PutObject "+key, err)
	r.later(func() { _, _ = r.provider.s3.DeleteObject(r.ctx, &s3.DeleteObjectInput{Bucket: &r.bucket, Key: &key}) })
}

var objectCases = []contract{
	{name: "an object comes back as it was put", steps: func(r *run) {
		r.put("contract/doc", []byte(`{"a":1}`))
		out, err := r.provider.s3.GetObject(r.ctx, &s3.GetObjectInput{Bucket: &r.bucket, Key: aws.String("contract/doc")})
		r.ok("GetObject", err)
		body, err := io.ReadAll(out.Body)
		r.ok("reading", err)
		r.equal("body", string(body), `{"a":1}`)
		r.equal("content type", aws.ToString(out.ContentType), "application/json")
		head, err := r.provider.s3.HeadObject(r.ctx, &s3.HeadObjectInput{Bucket: &r.bucket, Key: aws.String("contract/doc")})
		r.ok("HeadObject", err)
		r.equal("length", aws.ToInt64(head.ContentLength), int64(7))
		r.equal("ETag is the MD5", aws.ToString(head.ETag), `"bb6cb5c68df4652941caf652a366f2d8"`)
	}},
	{name: "a missing object is NoSuchKey to GET and NotFound to HEAD", steps: func(r *run) {
		_, err := r.provider.s3.GetObject(r.ctx, &s3.GetObjectInput{Bucket: &r.bucket, Key: aws.String("missing")})
		r.refused("GetObject", err, "NoSuchKey")
		var typed *s3types.NoSuchKey
		r.equal("GetObject has the SDK's type", errors.As(err, &typed), true)
		_, err = r.provider.s3.HeadObject(r.ctx, &s3.HeadObjectInput{Bucket: &r.bucket, Key: aws.String("missing")})
		r.refused("HeadObject", err, "NotFound")
	}},
	{name: "a missing bucket is NoSuchBucket", steps: func(r *run) {
		_, err := r.provider.s3.PutObject(r.ctx, &s3.PutObjectInput{Bucket: aws.String(r.bucket + "-missing"), Key: aws.String("a"), Body: strings.NewReader("a")})
		r.refused("PutObject", err, "NoSuchBucket")
		_, err = r.provider.s3.DeleteObjects(r.ctx, &s3.DeleteObjectsInput{Bucket: aws.String(r.bucket + "-missing"), Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("a")}}}})
		r.refused("DeleteObjects", err, "NoSuchBucket")
	}},
	{name: "another account's bucket is closed", steps: func(r *run) {
		_, err := r.consumer.s3.PutObject(r.ctx, &s3.PutObjectInput{Bucket: &r.bucket, Key: aws.String("a"), Body: strings.NewReader("a")})
		r.refused("PutObject", err, "AccessDenied")
	}},
	{name: "deleting what is not there succeeds", steps: func(r *run) {
		r.put("contract/one", []byte("1"))
		out, err := r.provider.s3.DeleteObjects(r.ctx, &s3.DeleteObjectsInput{Bucket: &r.bucket, Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("contract/one")}, {Key: aws.String("contract/two")}}}})
		r.ok("DeleteObjects", err)
		r.equal("errors", len(out.Errors), 0)
		r.equal("deleted", len(out.Deleted), 2)
		_, err = r.provider.s3.DeleteObject(r.ctx, &s3.DeleteObjectInput{Bucket: &r.bucket, Key: aws.String("contract/one")})
		r.ok("DeleteObject", err)
	}},
	{name: "objects are listed by prefix, in pages", steps: func(r *run) {
		for _, key := range []string{"list/a", "list/b", "list/c", "other"} {
			r.put(key, []byte(key))
		}
		pages := s3.NewListObjectsV2Paginator(r.provider.s3, &s3.ListObjectsV2Input{Bucket: &r.bucket, Prefix: aws.String("list/"), MaxKeys: aws.Int32(2)})
		var keys []string
		for pages.HasMorePages() {
			page, err := pages.NextPage(r.ctx)
			r.ok("ListObjectsV2", err)
			for _, o := range page.Contents {
				keys = append(keys, *o.Key)
			}
		}
		r.equal("keys", keys, []string{"list/a", "list/b", "list/c"})
	}},
}

// publish publishes the issuer's documents, and returns its key.
func (r *run) publish() (key []byte) {
	if r.signingKey == nil {
		var err error
		r.signingKey, r.publicKey, err = webidentity.GenerateKey()
		r.ok("GenerateKey", err)
	}
	discovery, err := webidentity.Discovery(r.issuer, r.publicKey)
	r.ok("Discovery", err)
	set, err := webidentity.JWKS(r.publicKey)
	r.ok("JWKS", err)
	prefix := r.issuer[strings.LastIndex(r.issuer, "/")+1:]
	r.put(prefix+"/.well-known/openid-configuration", discovery)
	r.put(prefix+"/openid/v1/jwks", set)
	return r.signingKey
}

// token signs a token at a distance from now.
func (r *run) token(key []byte, issuer, sub, aud string, age time.Duration) string {
	signer, err := webidentity.NewSigner(key, issuer, clocktesting.NewFakePassiveClock(r.clock.Now().Add(-age)))
	r.ok("NewSigner", err)
	token, err := signer.Token(sub, aud, 15*time.Minute)
	r.ok("Token", err)
	return token
}

func (r *run) assume(role, token string) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	return r.anonymous.AssumeRoleWithWebIdentity(r.ctx, &sts.AssumeRoleWithWebIdentityInput{RoleArn: &role, RoleSessionName: aws.String("contract"), WebIdentityToken: &token})
}

var identityCases = []contract{
	{name: "an account knows who it is", steps: func(r *run) {
		out, err := r.consumer.sts.GetCallerIdentity(r.ctx, &sts.GetCallerIdentityInput{})
		r.ok("GetCallerIdentity", err)
		r.equal("account", aws.ToString(out.Account), r.consumer.account)
	}},
	{name: "a token of the issuer is worth the role", steps: func(r *run) {
		out, err := r.assume(r.role, r.token(r.publish(), r.issuer, subject, audience, 0))
		r.ok("AssumeRoleWithWebIdentity", err)
		r.equal("role", strings.Contains(*out.AssumedRoleUser.Arn, ":assumed-role/"), true)
		r.equal("subject", aws.ToString(out.SubjectFromWebIdentityToken), subject)
		r.equal("has credentials", out.Credentials != nil && aws.ToString(out.Credentials.SessionToken) != "", true)
	}},
	{name: "a token for somebody else is denied", steps: func(r *run) {
		_, err := r.assume(r.role, r.token(r.publish(), r.issuer, "system:serviceaccount:default:other", audience, 0))
		r.refused("AssumeRoleWithWebIdentity", err, "AccessDenied")
	}},
	{name: "a role that does not exist is denied", steps: func(r *run) {
		_, err := r.assume(r.role+"-missing", r.token(r.publish(), r.issuer, subject, audience, 0))
		r.refused("AssumeRoleWithWebIdentity", err, "AccessDenied")
	}},
	{name: "an expired token is refused as expired", steps: func(r *run) {
		_, err := r.assume(r.role, r.token(r.publish(), r.issuer, subject, audience, 2*time.Hour))
		r.refused("AssumeRoleWithWebIdentity", err, "ExpiredTokenException")
	}},
	{name: "a token for another audience is invalid", steps: func(r *run) {
		_, err := r.assume(r.role, r.token(r.publish(), r.issuer, subject, "other", 0))
		r.refused("AssumeRoleWithWebIdentity", err, "InvalidIdentityToken")
	}},
	{name: "a token that another key signed is invalid", steps: func(r *run) {
		r.publish()
		other, _, err := webidentity.GenerateKey()
		r.ok("GenerateKey", err)
		_, err = r.assume(r.role, r.token(other, r.issuer, subject, audience, 0))
		r.refused("AssumeRoleWithWebIdentity", err, "InvalidIdentityToken")
	}},
	{name: "a token of an issuer without documents is invalid", steps: func(r *run) {
		key, _, err := webidentity.GenerateKey()
		r.ok("GenerateKey", err)
		_, err = r.assume(r.role, r.token(key, r.issuer, subject, audience, 0))
		r.refused("AssumeRoleWithWebIdentity", err, "InvalidIdentityToken")
	}},
	{name: "a token of an issuer that the account does not know is invalid", steps: func(r *run) {
		_, err := r.assume(r.role, r.token(r.publish(), r.issuer+"/other", subject, audience, 0))
		r.refused("AssumeRoleWithWebIdentity", err, "InvalidIdentityToken")
	}},
	{name: "garbage is no token", steps: func(r *run) {
		_, err := r.assume(r.role, "garbage-that-is-long-enough")
		r.refused("AssumeRoleWithWebIdentity", err, "InvalidIdentityToken")
	}},
}
