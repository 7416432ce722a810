package fakeaws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// request is one call on its way through the fake.
type request struct {
	*identity
	cloud     *Cloud
	account   *Account
	region    *region
	operation string
	now       time.Time
}

func (q *request) misuse(format string, args ...any) { q.cloud.complain(format, args...) }

// input carries the typed input of the call past the serializer.
type input struct{}

// Install puts the cloud under a client, in the place of the network: after the retryer and the signer, so that retries, validation and
// credentials are the real ones.
func (c *Cloud) Install(stack *middleware.Stack) error {
	return c.install(stack, accessKey, func(m middleware.FinalizeMiddleware) error {
		return stack.Finalize.Insert(m, "Signing", middleware.After)
	})
}

// as is Install for clients with a known key: they need no endpoint and no signature, which are half of a call's cost.
func (c *Cloud) as(key string) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return c.install(stack, func(any) string { return key }, func(m middleware.FinalizeMiddleware) error {
			return stack.Finalize.Insert(m, "Retry", middleware.After)
		})
	}
}

func (c *Cloud) install(stack *middleware.Stack, key func(request any) string, place func(middleware.FinalizeMiddleware) error) error {
	if _, presigned := stack.Finalize.Get("PresignHTTPRequest"); presigned {
		return nil // it is signed here and sent by others
	}
	capture := middleware.InitializeMiddlewareFunc("fakeaws.Capture", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(middleware.WithStackValue(ctx, input{}, in.Parameters), in)
	})
	serve := middleware.FinalizeMiddlewareFunc("fakeaws.Serve", func(ctx context.Context, in middleware.FinalizeInput, _ middleware.FinalizeHandler) (out middleware.FinalizeOutput, md middleware.Metadata, err error) {
		if err := send(in.Request); err != nil {
			return out, md, err
		}
		out.Result, err = c.serve(ctx, key(in.Request))
		return out, md, err
	})
	if err := errors.Join(stack.Initialize.Add(capture, middleware.Before), place(serve)); err != nil {
		return fmt.Errorf("installing the fake: %w", err)
	}
	return nil
}

// send reads the body of a request, as a network would: the SDK computes
// checksums on the way, and reads them when the answer is there.
func send(req any) error {
	if r, ok := req.(*smithyhttp.Request); ok && r.GetStream() != nil {
		if _, err := io.Copy(io.Discard, r.GetStream()); err != nil {
			return fmt.Errorf("sending the request: %w", err)
		}
	}
	return nil
}

// serve answers one attempt of a call.
func (c *Cloud) serve(ctx context.Context, key string) (any, error) {
	name := awsmiddleware.GetOperationName(ctx)
	in := middleware.GetStackValue(ctx, input{})
	op := operationOf(in)
	if op == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.complain("%s %s is not supported", awsmiddleware.GetServiceID(ctx), name)
		return nil, fmt.Errorf("fakeaws: %s is not supported", name)
	}
	if err := c.wait(ctx); err != nil {
		return nil, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	who, denied := c.authenticate(op, key)
	q := &request{cloud: c, identity: who, operation: name, now: c.clock.Now()}
	if denied == nil {
		q.account = c.account(who.account)
		q.region = q.account.region(awsmiddleware.GetRegion(ctx))
	}
	rec := c.record(op, q, awsmiddleware.GetRegion(ctx))
	if denied == nil {
		if err := c.takeToken(op, q); err != nil {
			return nil, rec.failed(c.respond(err))
		}
	}
	fault := c.strike(op, q)
	if fault != nil && fault.Kind != AnswerLost {
		return nil, rec.failed(fault.Kind.refusal(ctx, op.service, q))
	}
	if denied != nil {
		return nil, rec.failed(c.respond(denied))
	}
	if err := c.judge(op, in); err != nil {
		return nil, rec.failed(c.respond(err))
	}
	c.settle(q.now)
	out, err := op.run(q, in)
	switch {
	case fault != nil:
		return nil, rec.failed(connectionReset())
	case err != nil:
		return nil, rec.failed(c.respond(err))
	}
	return out, nil
}

func (c *Cloud) wait(ctx context.Context) error {
	c.mu.Lock()
	d := c.latency
	c.mu.Unlock()
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
