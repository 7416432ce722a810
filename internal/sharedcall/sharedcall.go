// Package sharedcall lets callers that need the same answer of a remote API at
// the same time share one call. It takes the place of a mutex that is held while
// the call is made: a mutex knows no context, and one call that hangs would stop
// every caller, for ever.
package sharedcall

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"
)

// deadline of a shared call. It may consist of several requests, such as the
// pages of a list, each of which has a shorter one of its own.
const deadline = 3 * time.Minute

// A Group shares calls by key. Its zero value is ready for use.
type Group[T any] struct{ flights singleflight.Group }

// Do returns what call returns. It makes the call unless one with the same key is
// under way. The call does not end with the context of the caller that made it:
// others wait for it. Each caller waits no longer than its own context lasts.
func (g *Group[T]) Do(ctx context.Context, key string, call func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("waiting for a shared call: %w", err)
	}
	flight := g.flights.DoChan(key, func() (answer any, err error) {
		// A panic in a goroutine of singleflight would end the process, where one in a reconcile is an error.
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
