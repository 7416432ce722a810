package awsx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"k8s.io/utils/clock"
)

const (
	// silentAttempts is how many attempts in a row may time out before a host
	// counts as silent. One can be due to a connection that has died.
	silentAttempts = 2
	// silentPause is between two attempts to reach a silent host.
	silentPause = 15 * time.Second
)

// A SilentError is returned without a call: the host has taken connections, or
// packets, and has not answered.
type SilentError struct {
	Host string
	// Until is when the next attempt is made.
	Until time.Time
}

func (e *SilentError) Error() string { return e.Host + " does not answer" }

// RetryableError is false, so that the SDK does not retry: the reconcile does, later.
func (e *SilentError) RetryableError() bool { return false }

// A breaker is a circuit breaker for each host. A controller runs few workers:
// without it, objects that need a host which does not answer would take all of
// them, for the length of a timeout each.
type breaker struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	hosts map[string]*silence // of hosts that have not answered last
}

type silence struct {
	attempts int
	until    time.Time
	probing  bool
}

func newBreaker(clk clock.PassiveClock) *breaker {
	return &breaker{clock: clk, hosts: map[string]*silence{}}
}

// install adds the breaker around each attempt, the reading of the answer included.
func (b *breaker) install(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("hypershiftSilentHosts", b.attempt), middleware.Before)
}

func (b *breaker) attempt(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	req, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return out, metadata, fmt.Errorf("a call of AWS is a %T and no HTTP request", in.Request)
	}
	host := req.URL.Host
	if err := b.admit(host); err != nil {
		return out, metadata, err
	}
	defer func() { b.record(host, err, ctx.Err() != nil) }()
	return next.HandleDeserialize(ctx, in)
}

// admit lets one attempt at a time probe a host that was silent.
func (b *breaker) admit(host string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.hosts[host]
	if s == nil || s.attempts < silentAttempts {
		return nil
	}
	if s.probing || b.clock.Now().Before(s.until) {
		return &SilentError{Host: host, Until: s.until}
	}
	s.probing = true
	return nil
}

// record takes any answer, a refused connection included, for a sign of life. An
// attempt that its caller has given up is no evidence, either way.
func (b *breaker) record(host string, err error, givenUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.hosts[host]
	var timeout interface{ Timeout() bool }
	switch {
	case givenUp && s != nil:
		s.probing = false
	case givenUp:
	case errors.As(err, &timeout) && timeout.Timeout():
		if s == nil {
			s = &silence{}
			b.hosts[host] = s
		}
		s.attempts, s.until, s.probing = s.attempts+1, b.clock.Now().Add(silentPause), false
	default:
		delete(b.hosts, host)
	}
}
