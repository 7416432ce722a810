package awsx

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// token is a function as the SDK's token retriever.
type token func() ([]byte, error)

// GetIdentityToken implements stscreds.IdentityTokenRetriever.
func (t token) GetIdentityToken() ([]byte, error) { return t() }

// provider exchanges tokens for credentials: the tokens of Token, and of
// Fallback for a role that denies them.
func (w *WebIdentity) provider(ctx context.Context, client *sts.Client) aws.CredentialsProvider {
	exchange := func(get func(context.Context) ([]byte, error)) aws.CredentialsProvider {
		return stscreds.NewWebIdentityRoleProvider(client, w.RoleARN, token(func() ([]byte, error) {
			ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
			defer cancel()
			return get(ctx)
		}),
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = w.SessionName })
	}
	first := exchange(w.Token)
	if w.Fallback == nil {
		return first
	}
	second := exchange(w.Fallback)
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		credentials, err := first.Retrieve(context.WithValue(ctx, provisional{}, true))
		if !IsUntrusted(err) {
			return credentials, err
		}
		return second.Retrieve(ctx)
	})
}

// provisional marks the context of an exchange that is repeated when it is denied.
type provisional struct{}

// IsProvisional is true if another attempt follows a denial of this call.
func IsProvisional(ctx context.Context) bool { return ctx.Value(provisional{}) != nil }

// IsUntrusted is true if STS accepts the token as one of its issuer and the trust
// policy of the role does not name its subject, or the role does not exist.
func IsUntrusted(err error) bool {
	return Kind(err) == Identity && Code(err) == "AccessDenied"
}

// TakeRole exchanges a token for credentials of the role and drops them: its
// error shows whether the role trusts the token's subject.
func TakeRole(ctx context.Context, cfg aws.Config, roleARN, sessionName string, token []byte) error {
	_, err := sts.NewFromConfig(cfg).AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: &roleARN, RoleSessionName: &sessionName, WebIdentityToken: aws.String(string(token)), DurationSeconds: aws.Int32(900),
	})
	if err != nil {
		return fmt.Errorf("taking on role %s: %w", roleARN, err)
	}
	return nil
}
