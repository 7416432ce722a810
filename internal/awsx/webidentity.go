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

// provider exchanges tokens for credentials: those of Token, and those of
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

// provisional marks the context of an exchange whose denial is not the last word.
type provisional struct{}

// IsProvisional says that a denial of this call is followed by another attempt.
func IsProvisional(ctx context.Context) bool { return ctx.Value(provisional{}) != nil }

// IsUntrusted says that STS accepts the token as one of its issuer, and that the
// trust policy of the role does not name its subject, or that there is no such role.
func IsUntrusted(err error) bool {
	return Kind(err) == Identity && Code(err) == "AccessDenied"
}

// TakeRole exchanges a token for credentials of the role and drops them: its
// error says whether the role trusts the token's subject.
func TakeRole(ctx context.Context, cfg aws.Config, roleARN, sessionName string, token []byte) error {
	_, err := sts.NewFromConfig(cfg).AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: &roleARN, RoleSessionName: &sessionName, WebIdentityToken: aws.String(string(token)), DurationSeconds: aws.Int32(900),
	})
	if err != nil {
		return fmt.Errorf("taking on role %s: %w", roleARN, err)
	}
	return nil
}
