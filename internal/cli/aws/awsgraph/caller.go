package awsgraph

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// Caller is the account that a session is in.
type Caller struct{ Account, Partition, ARN string }

// CallerOf returns the caller of a session. It fails if AWS does not accept the credentials.
func CallerOf(ctx context.Context, cfg aws.Config) (Caller, error) {
	answer, err := awsx.STS(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Caller{}, fmt.Errorf("reading the identity of the caller: %w", err)
	}
	c := Caller{Account: aws.ToString(answer.Account), ARN: aws.ToString(answer.Arn), Partition: "aws"}
	if parts := strings.Split(c.ARN, ":"); len(parts) > 1 {
		c.Partition = parts[1]
	}
	return c, nil
}
