package awsx

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
)

// renewal makes the next call take new credentials after AWS has refused a call. The
// SDK keeps credentials until they expire, which is an hour. They end earlier when an
// administrator revokes sessions, or deletes a role, also if the role is created again.
// Without a renewal, the calls of that hour fail although the role can be assumed; or
// no call shows that it cannot be assumed any more.
type renewal struct {
	clock clock.PassiveClock
	cache *aws.CredentialsCache

	mu    sync.Mutex
	taken time.Time
}

// withRenewal sets the provider of cfg's credentials. The clients that the provider
// uses are not of cfg.
func withRenewal(cfg *aws.Config, c clock.PassiveClock, provider aws.CredentialsProvider) {
	r := &renewal{clock: c}
	r.cache = aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		credentials, err := provider.Retrieve(ctx)
		if err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.taken = r.clock.Now()
		}
		return credentials, err
	}))
	cfg.Credentials = r.cache
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), r.install)
}

func (r *renewal) install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("renewRefusedCredentials",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, md, err := next.HandleInitialize(ctx, in)
			if err != nil {
				r.refused(&smithy.OperationError{ServiceID: middleware.GetServiceID(ctx), OperationName: middleware.GetOperationName(ctx), Err: err})
			}
			return out, md, err
		}), middleware.Before)
}

// refused drops credentials that may be the cause of an error. A denial has another
// cause if a permission is missing, and then it repeats: hence the minimum age.
func (r *renewal) refused(err error) {
	switch Kind(err) {
	case Identity, Denied:
	default:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock.Since(r.taken) >= RefusedCredentialsAge {
		r.cache.Invalidate()
	}
}
