package awsx

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	clocktesting "k8s.io/utils/clock/testing"
)

// A host answers attempts as a test wants it.
type host struct {
	*breaker
	clock *clocktesting.FakeClock
	calls int
}

func newHost() *host {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	return &host{breaker: newBreaker(clock), clock: clock}
}

func (h *host) call(ctx context.Context, name string, answer error) error {
	req := smithyhttp.NewStackRequest().(*smithyhttp.Request) //nolint:forcetypeassert // it is one
	req.URL.Host = name
	_, _, err := h.attempt(ctx, middleware.DeserializeInput{Request: req}, middleware.DeserializeHandlerFunc(
		func(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
			h.calls++
			return middleware.DeserializeOutput{}, middleware.Metadata{}, answer
		}))
	return err
}

var (
	errTimeout = &smithyhttp.RequestSendError{Err: context.DeadlineExceeded}
	errRefused = &smithyhttp.RequestSendError{Err: errors.New("connection refused")}
)

func TestASilentHostIsLeftAloneForAWhile(t *testing.T) {
	h := newHost()
	for range 5 {
		_ = h.call(t.Context(), "ec2", errTimeout)
	}
	if h.calls != silentAttempts {
		t.Errorf("%d attempts were made", h.calls)
	}
	var silent *SilentError
	if err := h.call(t.Context(), "ec2", nil); !errors.As(err, &silent) || silent.Host != "ec2" || silent.RetryableError() {
		t.Errorf("got %v", err)
	}
	if err := h.call(t.Context(), "sts", nil); err != nil {
		t.Errorf("another host: %v", err)
	}
	h.clock.Step(silentPause)
	if err := h.call(t.Context(), "ec2", errTimeout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the pause: %v", err)
	}
	if err := h.call(t.Context(), "ec2", nil); !errors.As(err, &silent) {
		t.Errorf("after an attempt in vain: %v", err)
	}
	h.clock.Step(silentPause)
	for range 2 {
		if err := h.call(t.Context(), "ec2", nil); err != nil {
			t.Errorf("it answers again: %v", err)
		}
	}
}

func TestOneAttemptAtATimeProbesASilentHost(t *testing.T) {
	h := newHost()
	for range silentAttempts {
		_ = h.call(t.Context(), "ec2", errTimeout)
	}
	h.clock.Step(silentPause)
	if err := h.admit("ec2"); err != nil {
		t.Fatal(err)
	}
	if err := h.admit("ec2"); err == nil {
		t.Error("a second attempt waits beside the first")
	}
	h.record("ec2", context.Canceled, true)
	if err := h.admit("ec2"); err != nil {
		t.Errorf("the first was given up, and no other may follow: %v", err)
	}
}

func TestErrorsThatAreNotSilence(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, attempts := range map[string][]struct {
		canceled bool
		err      error
	}{
		"one timeout of a connection":       {{false, errTimeout}, {false, nil}, {false, errTimeout}},
		"a host that refuses connections":   {{false, errTimeout}, {false, errRefused}, {false, errTimeout}},
		"timeouts of the callers' contexts": {{true, errTimeout}, {true, errTimeout}, {true, errTimeout}},
		"an answer with an error":           {{false, errTimeout}, {false, errors.New("throttled")}, {false, errTimeout}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			for _, a := range attempts {
				ctx := t.Context()
				if a.canceled {
					ctx = canceled
				}
				_ = h.call(ctx, "ec2", a.err)
			}
			if err := h.call(t.Context(), "ec2", nil); err != nil {
				t.Error(err)
			}
			if len(h.hosts) > 0 {
				t.Errorf("a host that has answered is remembered: %v", h.hosts)
			}
		})
	}
}

func TestEveryClientHasATimeout(t *testing.T) {
	cfg, err := NewConfig(t.Context(), Options{Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	client, ok := cfg.HTTPClient.(interface{ GetTimeout() time.Duration })
	if !ok || client.GetTimeout() != attemptTimeout {
		t.Errorf("the client is %T", cfg.HTTPClient)
	}
	if _, ok := cfg.HTTPClient.(*http.Client); ok {
		t.Error("a bundle of authorities in AWS_CA_BUNDLE could not be used")
	}
}
