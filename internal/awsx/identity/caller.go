package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

// API is the part of STS that a Caller uses. It needs no permission.
type API interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// A Caller knows in which location the calls of this process are made.
type Caller struct {
	api     API
	region  string
	account *cache.Keyed[struct{}, string]
}

// NewCaller returns the Caller with the credentials of api, and with clients in region.
func NewCaller(api API, region string) *Caller {
	return &Caller{api: api, region: region, account: cache.NewKeyed[struct{}, string](clock.RealClock{}, 1)}
}

// Location returns the location. STS is called once: the credentials of a process
// do not change.
func (c *Caller) Location(ctx context.Context) (awsx.Location, error) {
	account, err := c.account.Get(ctx, struct{}{}, func(ctx context.Context) (string, time.Duration, error) {
		caller, err := c.api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return "", 0, err
		}
		return aws.ToString(caller.Account), awsx.Forever, nil
	})
	if err != nil {
		return awsx.Location{}, fmt.Errorf("reading the account of the own credentials: %w", err)
	}
	return awsx.Location{Account: account, Region: c.region}, nil
}
