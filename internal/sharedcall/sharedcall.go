// Package sharedcall lets callers that need the same answer of a remote API at the same time share one call. It replaces a
// mutex that is held during the call: a mutex ignores contexts, and one call that hangs would block every caller.
package sharedcall

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"
)

// deadline of a shared call. It may have several requests, such as the pages of a list, each with a shorter deadline.
const deadline = 3 * time.Minute

// A Group shares calls by key. Its zero value is ready for use.
type Group[T any] struct{ flights singleflight.Group }

// Do returns the result of call. It calls it unless a call with the same key is in progress. The context of the caller that
// started the call does not cancel it, because others wait for the result. Each caller waits until its own context is done.
func (g *Group[T]) Do(ctx context.Context, key string, call func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("waiting for a shared call: %w", err)
	}
	flight := g.flights.DoChan(key, func() (answer any, err error) {
		// A panic in a goroutine of singleflight would end the process. In a reconcile it is an error.
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline)
		defer cancel()
		return call(ctx)
	})
	select {
	case <-ctx.Done():
		return none, fmt.Errorf("waiting for a shared call: %w", ctx.Err())
	case answer := <-flight:
		if answer.Err != nil {
			return none, answer.Err
		}
		return answer.Val.(T), nil //nolint:forcetypeassert // call returns a T
	}
}
