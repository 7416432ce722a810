// Package meter counts the calls of AWS by operation and outcome. AWS throttles by
// account: the calls of one operator count against the calls of all others.
package meter

import (
	"context"
	"errors"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// A Meter counts attempts: a call that was throttled twice counts three times.
type Meter struct{ calls *prometheus.CounterVec }

// New returns a Meter with a registered counter, which all meters of a registry share.
func New(registerer prometheus.Registerer) (*Meter, error) {
	m := &Meter{calls: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hypershift_aws_calls_total",
		Help: "Calls of AWS by service, operation and outcome: success, or the kind of error.",
	}, []string{"service", "operation", "outcome"})}
	err := registerer.Register(m.calls)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		return &Meter{calls: registered.ExistingCollector.(*prometheus.CounterVec)}, nil
	}
	return m, err
}

// Middleware is for awsx.Options. A request that is presigned for others is not counted.
func (m *Meter) Middleware(stack *middleware.Stack) error {
	if _, retries := stack.Finalize.Get("Retry"); !retries {
		return nil
	}
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("hypershiftMeter", m.count), "Retry", middleware.After)
}

func (m *Meter) count(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleFinalize(ctx, in)
	outcome := "success"
	if err != nil {
		outcome = awsx.Reason(err)
	}
	m.calls.WithLabelValues(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), outcome).Inc()
	return out, metadata, err
}
