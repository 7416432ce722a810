// Package awsx is the only way to AWS: sessions, clients, errors and tags. SDK
// clients are created here and in the resource packages below, and SDK types do
// not leave these packages.
//
// Here are the clients of the services that both operators call, EC2 and STS. The
// client of every other service is created in the package of its resource: each
// SDK package that a program imports takes memory at its start, used or not.
package awsx

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
)

// Options configure a session.
type Options struct {
	// Region of all regional calls; empty leaves it to the environment.
	Region string
	// CredentialsFile is a shared credentials file, instead of the default ones. Its profile is $AWS_PROFILE, or "default".
	CredentialsFile string
	// AccessKey, if set, is the only identity.
	AccessKey *AccessKey
	// WebIdentity, if set, is the only identity: no other credentials of the
	// environment (static keys, instance profile) are tried.
	WebIdentity *WebIdentity
	// Anonymous makes calls without credentials, such as the exchange of a token.
	Anonymous bool
	// Middleware is added to every client, the ones that fetch credentials too.
	Middleware []func(*middleware.Stack) error
	// Timeout is of one attempt of a call; the default is 15 seconds.
	Timeout time.Duration
	// Clock measures the age of credentials; the default is the real one.
	Clock clock.PassiveClock
}

// AccessKey is a key of an IAM user, or of a session if it has a token.
type AccessKey struct{ ID, Secret, Token string }

// WebIdentity is a role that trusts the tokens of a hosted cluster's issuer.
type WebIdentity struct {
	RoleARN string
	// SessionName is the caller in CloudTrail.
	SessionName string
	// Token returns a fresh token; it is called about once an hour.
	Token func(context.Context) ([]byte, error)
	// Fallback, if set, returns the token for a role that trusts only the subject of
	// earlier versions. It is called when STS denies the token of Token.
	Fallback func(context.Context) ([]byte, error)
}

const (
	// maxAttempts and the SDK's own exponential backoff with jitter ride out a
	// short throttle; a longer one is the workqueue's business. The SDK retries
	// after errors of a server or of the network within half a second.
	maxAttempts = 4
	// attemptTimeout is from the connection to the last byte of the answer. Pages
	// of a thousand resources take a few seconds. Between throttled attempts, the
	// SDK waits for seven seconds in total, and for five more each if the answer
	// asks for it: with maxAttempts no call takes longer than 82 seconds.
	attemptTimeout = 15 * time.Second
	// tokenTimeout is for the token that is exchanged for credentials. The SDK
	// detaches the exchange from the call that waits for it.
	tokenTimeout = 15 * time.Second
)

// httpClient is shared: requests are signed one by one, and a session that is
// dropped leaves no open connections.
var httpClient = awshttp.NewBuildableClient().WithTimeout(attemptTimeout)

// silentHosts is shared as well: hosts that do not answer one session do not answer another.
var silentHosts = newBreaker(clock.RealClock{})

// NewConfig returns a session for opts. It makes no call: a role that cannot
// be assumed shows at the first call that is made with it.
func NewConfig(ctx context.Context, opts Options) (aws.Config, error) {
	client := httpClient
	if opts.Timeout > 0 {
		client = client.WithTimeout(opts.Timeout)
	}
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		// The SDK's log lines are in the error of the call, too, and would mix with the output of the program.
		config.WithLogger(logging.Nop{}),
		config.WithAPIOptions(append(slices.Clone(opts.Middleware), silentHosts.install)),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = maxAttempts })
		}),
	}
	if opts.Region != "" {
		load = append(load, config.WithRegion(opts.Region))
	}
	if opts.CredentialsFile != "" {
		// Without an explicit profile, the SDK prefers the credentials of the environment to those of the file.
		load = append(load, config.WithSharedCredentialsFiles([]string{opts.CredentialsFile}), config.WithSharedConfigProfile(cmp.Or(os.Getenv("AWS_PROFILE"), "default")))
	}
	switch {
	case opts.AccessKey != nil:
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(opts.AccessKey.ID, opts.AccessKey.Secret, opts.AccessKey.Token)))
	case opts.WebIdentity != nil || opts.Anonymous:
		load = append(load, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("loading AWS configuration: %w", err)
	}
	// The SDK would make the client that fetches credentials before it knows
	// of a custom endpoint, so we make it, from the finished configuration.
	if w := opts.WebIdentity; w != nil {
		if opts.Clock == nil {
			opts.Clock = clock.RealClock{}
		}
		withRenewal(&cfg, opts.Clock, w.provider(ctx, sts.NewFromConfig(cfg)))
	}
	return cfg, nil
}

// AssumeRole returns cfg with the credentials of a role that the identity of cfg
// assumes, for resources of another account.
func AssumeRole(cfg aws.Config, c clock.PassiveClock, roleARN string) aws.Config {
	assumed := cfg.Copy()
	withRenewal(&assumed, c, stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), roleARN))
	return assumed
}

// EC2 returns a client for EC2.
func EC2(cfg aws.Config) *ec2.Client { return ec2.NewFromConfig(cfg) }

// STS returns a client for the identity of the caller.
func STS(cfg aws.Config) *sts.Client { return sts.NewFromConfig(cfg) }
