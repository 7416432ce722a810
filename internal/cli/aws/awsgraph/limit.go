package awsgraph

import (
	"context"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
)

// parallelCalls is how many calls to one service run at once. AWS limits the calls of an account for each service. A graph for
// three zones has at most 20 independent calls to EC2.
const parallelCalls = 20

// Limited returns cfg with a limit of the calls to each service at once. All clients of the returned configuration share it.
//
// The limit is here, and not in the engine, because a read of the engine is often no call: 40 reads share nine lists.
func Limited(cfg aws.Config) aws.Config {
	limited := cfg.Copy()
	// Each connection that is not kept costs a handshake, which takes as long as a call.
	client, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	if ok || cfg.HTTPClient == nil {
		limited.HTTPClient = client.WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = 2 * parallelCalls })
	}
	l := &limiter{slots: map[string]chan struct{}{}}
	limited.APIOptions = append(append([]func(*middleware.Stack) error(nil), cfg.APIOptions...), func(stack *middleware.Stack) error {
		// Inside of the retries: a call that waits for its next attempt takes no slot.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("hypershiftParallelCalls", l.attempt), middleware.Before)
	})
	return limited
}

type limiter struct {
	mu    sync.Mutex
	slots map[string]chan struct{}
}

func (l *limiter) of(service string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slots[service] == nil {
		l.slots[service] = make(chan struct{}, parallelCalls)
	}
	return l.slots[service]
}

func (l *limiter) attempt(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	slots := l.of(awsmiddleware.GetServiceID(ctx))
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return out, metadata, ctx.Err()
	}
	defer func() { <-slots }()
	return next.HandleDeserialize(ctx, in)
}
