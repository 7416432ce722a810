package fakeaws

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// identity is the caller of a call.
type identity struct {
	account string
	role    string // without path; empty for the account itself
	arn     string // as GetCallerIdentity says it
	expired bool
	revoked bool
}

// principal is the ARN that other accounts name to let this identity in. Sessions
// of a role lose its path.
func (i *identity) principal() string {
	if i.role == "" {
		return "arn:aws:iam::" + i.account + ":root"
	}
	return "arn:aws:iam::" + i.account + ":role/" + i.role
}

// Config returns an aws.Config that acts as the role in this account, or as the
// account itself if role is empty. Retries are the SDK's own, without delay.
func (a *Account) Config(region, role string) aws.Config {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	key := a.cloud.issue(a.id, role, "config")
	return aws.Config{
		Region:      region,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(key, "secret", "")),
		Retryer:     func() aws.Retryer { return withoutDelay() },
		APIOptions:  []func(*middleware.Stack) error{a.cloud.as(key)},
	}
}

func withoutDelay() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		// The SDK's retry quota would make a test depend on how many faults it has had before.
		o.RateLimiter = ratelimit.None
	})
}

// NoBackoff replaces a client's retryer by a retryer that does not wait. Install it
// after the middleware that sets the retryer of production.
func NoBackoff(stack *middleware.Stack) error {
	_, err := stack.Finalize.Swap("Retry", retry.NewAttemptMiddleware(withoutDelay(), smithyhttp.RequestCloner))
	return err
}

// issue returns an access key for the role. The same role and session get the same key.
func (c *Cloud) issue(account, role, session string) string {
	i := &identity{account: account, role: role, arn: "arn:aws:iam::" + account + ":root"}
	if role != "" {
		i.arn = fmt.Sprintf("arn:aws:sts::%s:assumed-role/%s/%s", account, role, session)
	}
	key := "ASIA." + account + "." + role + "." + session
	for n := 0; ; n++ {
		k := key
		if n > 0 {
			k = fmt.Sprintf("%s.%d", key, n)
		}
		if old := c.keys[k]; old == nil || !old.expired && !old.revoked {
			c.keys[k] = i
			return k
		}
	}
}

// ExpireCredentials ends every session of the role so far: calls with its old
// credentials are refused, new ones have to be fetched. The fake clock does not
// end sessions, because the SDK renews them by the real one.
func (a *Account) ExpireCredentials(role string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	for _, i := range a.cloud.keys {
		if i.account == a.id && i.role == role {
			i.expired = true
		}
	}
}

// RevokeSessions denies all calls of the sessions of the role so far, as the policy
// AWSRevokeOlderSessions of IAM does. New sessions are not concerned.
func (a *Account) RevokeSessions(role string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	for _, i := range a.cloud.keys {
		if i.account == a.id && i.role == role {
			i.revoked = true
		}
	}
}

// accessKey reads the key from the signature of the request.
func accessKey(req any) string {
	r, ok := req.(*smithyhttp.Request)
	if !ok {
		return ""
	}
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(rest, "/")
	return key
}

// authenticate determines the caller. Without an identity it returns an empty identity and the service's refusal.
func (c *Cloud) authenticate(op *operation, key string) (*identity, error) {
	if key == "" && op.anonymous {
		return &identity{account: nobody}, nil
	}
	who := c.keys[key]
	switch {
	case who == nil && op.service == EC2:
		return &identity{}, refused(http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials")
	case who == nil && op.service == S3:
		return &identity{}, refused(http.StatusForbidden, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
	case who == nil:
		return &identity{}, refused(http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid.")
	case who.expired:
		return who, expired(op.service)
	case who.revoked && op.name != "GetCallerIdentity": // which needs no permission
		return who, Denied.answer(op.service, &request{identity: who, operation: op.name})
	}
	return who, nil
}

// nobody is the account of calls without credentials.
const nobody = "000000000000"
