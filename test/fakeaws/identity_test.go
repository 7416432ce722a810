package fakeaws_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// sharedVPC is a third account, which owns the VPC that the customer uses.
const sharedVPC = "333333333333"

// TestSessions runs the way credentials take in production: a token signed with the
// cluster's key, checked against the documents in S3, is worth a role in the
// customer's account, and that role is worth one in the account of the shared VPC.
func TestSessions(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	cloud := fakeaws.New(now).FailOn(t)
	const issuer = "https://oidc.s3.us-east-1.amazonaws.com/demo"
	role := cloud.Account(consumer).AddRole(fakeaws.Role{Name: "cpo", Path: "/hypershift/", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: []string{"sub"}}}})
	shared := cloud.Account(sharedVPC).AddRole(fakeaws.Role{Name: "shared", Trusts: []fakeaws.Trust{{Principals: []string{"arn:aws:iam::" + consumer + ":role/cpo"}}}})
	cloud.Account(consumer).AddIdentityProvider(fakeaws.IdentityProvider{Issuer: issuer, Audiences: []string{"openshift"}})

	key, public, err := webidentity.GenerateKey()
	must(t, err)
	signer, err := webidentity.NewSigner(key, issuer, now)
	must(t, err)
	who := func(chained string) (string, string) {
		cfg, err := awsx.NewConfig(t.Context(), awsx.Options{
			Region: region, Middleware: []func(*middleware.Stack) error{cloud.Install, fakeaws.NoBackoff},
			WebIdentity: &awsx.WebIdentity{RoleARN: role, SessionName: "cpo", Token: func(context.Context) ([]byte, error) {
				token, err := signer.Token("sub", "openshift", time.Minute)
				return []byte(token), err
			}},
		})
		must(t, err)
		if chained != "" {
			cfg = awsx.AssumeRole(cfg, now, chained)
		}
		out, err := awsx.STS(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		if err != nil {
			return "", code(err)
		}
		return *out.Arn, ""
	}

	if _, got := who(""); got != "InvalidIdentityToken" {
		t.Errorf("before the documents are published: %q", got)
	}
	cloud.Account(provider).AddBucket(region, "oidc")
	bucket := s3.NewFromConfig(cloud.Account(provider).Config(region, ""))
	discovery, err := webidentity.Discovery(issuer, public)
	must(t, err)
	keys, err := webidentity.JWKS(public)
	must(t, err)
	for name, body := range map[string][]byte{"demo/.well-known/openid-configuration": discovery, "demo/openid/v1/jwks": keys} {
		_, err := bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("oidc"), Key: &name, Body: bytes.NewReader(body)})
		must(t, err)
	}
	if got, _ := who(""); got != "arn:aws:sts::"+consumer+":assumed-role/cpo/cpo" {
		t.Errorf("with a token: %q", got)
	}
	if got, err := who(shared); got[:len("arn:aws:sts::"+sharedVPC)] != "arn:aws:sts::"+sharedVPC {
		t.Errorf("with the role of the shared VPC: %q %q", got, err)
	}
	cloud.Account(sharedVPC).RemoveRole("shared")
	if _, got := who(shared); got != "AccessDenied" {
		t.Errorf("with a role that is gone: %q", got)
	}
}

func TestExpiredCredentials(t *testing.T) {
	w := start(t)
	w.Account(consumer).ExpireCredentials("control-plane-operator")
	if _, err := w.cpo.DescribeVpcEndpoints(t.Context(), byOwner("a")); code(err) != "RequestExpired" {
		t.Errorf("old credentials: %v", err)
	}
	renewed := awsx.EC2(w.Account(consumer).Config(region, "control-plane-operator"))
	_, err := renewed.DescribeVpcEndpoints(t.Context(), byOwner("a"))
	must(t, err)
}
