package awsemulator_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/smithy-go"
)

// wrongClock signs requests as a machine whose clock is wrong by a duration.
type wrongClock struct {
	*v4.Signer
	by time.Duration
}

func (w wrongClock) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, hash, service, region string, at time.Time, o ...func(*v4.SignerOptions)) error {
	return w.Signer.SignHTTP(ctx, c, r, hash, service, region, at.Add(w.by), o...)
}

// AWS refuses a signature of another time, each service with its own tolerance and code.
func TestSignaturesOfAnotherTimeAreRefused(t *testing.T) {
	cfg := emulator.Config(newAccount(t).id)
	for name, c := range map[string]struct {
		call      func(context.Context, wrongClock) error
		tolerance time.Duration
		code      string
		saysWhen  bool
	}{
		"EC2": {
			call: func(ctx context.Context, w wrongClock) error {
				_, err := ec2.NewFromConfig(cfg, func(o *ec2.Options) { o.HTTPSignerV4 = w }).DescribeRegions(ctx, nil)
				return err
			},
			tolerance: 15 * time.Minute, code: "RequestExpired",
		},
		"S3": {
			call: func(ctx context.Context, w wrongClock) error {
				_, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.HTTPSignerV4 = w }).ListBuckets(ctx, nil)
				return err
			},
			tolerance: 15 * time.Minute, code: "RequestTimeTooSkewed",
		},
		"IAM": {
			call: func(ctx context.Context, w wrongClock) error {
				_, err := iam.NewFromConfig(cfg, func(o *iam.Options) { o.HTTPSignerV4 = w }).ListRoles(ctx, nil)
				return err
			},
			tolerance: 5 * time.Minute, code: "SignatureDoesNotMatch", saysWhen: true,
		},
		"a service with JSON": {
			call: func(ctx context.Context, w wrongClock) error {
				_, err := servicequotas.NewFromConfig(cfg, func(o *servicequotas.Options) { o.HTTPSignerV4 = w }).GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String("vpc"), QuotaCode: aws.String("L-F678F1CE")})
				return err
			},
			tolerance: 5 * time.Minute, code: "InvalidSignatureException", saysWhen: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for by, want := range map[time.Duration]string{
				0: "", c.tolerance - time.Minute: "", time.Minute - c.tolerance: "",
				c.tolerance + time.Minute: "not yet current", -c.tolerance - time.Minute: "expired",
			} {
				err := c.call(t.Context(), wrongClock{v4.NewSigner(), by})
				var api smithy.APIError
				switch {
				case want == "" && err != nil:
					t.Errorf("wrong by %s: %v", by, err)
				case want != "" && (!errors.As(err, &api) || api.ErrorCode() != c.code):
					t.Errorf("wrong by %s: %v, want %s", by, err, c.code)
				case want != "" && c.saysWhen && !strings.Contains(api.ErrorMessage(), "Signature "+want):
					t.Errorf("wrong by %s: %s", by, api.ErrorMessage())
				}
			}
		})
	}
}
