package awscontract

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
)

// settling delays a description of EC2 until the resources that the account has created before can be found. EC2 is eventually consistent:
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html. The cases are about other answers than this one, so they
// describe created resources once.
type settling struct {
	// time is how long EC2 may not find a created resource.
	time time.Duration

	mu      sync.Mutex
	written time.Time
}

// config returns the configuration of a client that waits.
func (s *settling) config(cfg aws.Config) aws.Config {
	cfg = cfg.Copy()
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error { return stack.Initialize.Add(s, middleware.Before) })
	return cfg
}

// ID implements middleware.InitializeMiddleware.
func (s *settling) ID() string { return "settling" }

// HandleInitialize implements middleware.InitializeMiddleware.
func (s *settling) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	describes := strings.HasPrefix(middleware.GetOperationName(ctx), "Describe")
	if describes {
		select {
		case <-ctx.Done():
		case <-time.After(s.left()):
		}
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	if !describes {
		s.mu.Lock()
		s.written = time.Now()
		s.mu.Unlock()
	}
	return out, metadata, err
}

func (s *settling) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written.IsZero() {
		return 0
	}
	return s.time - time.Since(s.written)
}
