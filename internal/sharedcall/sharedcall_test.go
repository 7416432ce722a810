package sharedcall

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestParallelCallersShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		var calls atomic.Int32
		call := func(context.Context) (int, error) {
			time.Sleep(time.Second)
			return int(calls.Add(1)), nil
		}
		answers := make(chan int)
		for range 3 {
			go func() {
				answer, err := g.Do(t.Context(), "a", call)
				if err != nil {
					t.Error(err)
				}
				answers <- answer
			}()
		}
		for range 3 {
			if got := <-answers; got != 1 {
				t.Errorf("call %d was made", got)
			}
		}
		if got, err := g.Do(t.Context(), "a", call); got != 2 || err != nil {
			t.Errorf("a later caller got %d, %v", got, err)
		}
	})
}

func TestACallThatHangsDoesNotBlockItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		hang := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		started := time.Now()
		wait := func(timeout time.Duration) <-chan time.Duration {
			took := make(chan time.Duration, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				if _, err := g.Do(ctx, "a", hang); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				took <- time.Since(started)
			}()
			return took
		}
		first, second, third := wait(time.Minute), wait(time.Second), wait(time.Hour)
		if got, err := g.Do(t.Context(), "b", func(context.Context) (int, error) { return 1, nil }); got != 1 || err != nil || time.Since(started) > 0 {
			t.Errorf("another key waited %s: %v", time.Since(started), err)
		}
		if a, b, c := <-first, <-second, <-third; a != time.Minute || b != time.Second || c != deadline {
			t.Errorf("callers waited %s, %s and %s", a, b, c)
		}
	})
}

func TestACallOutlivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		slow := func(ctx context.Context) (int, error) {
			select {
			case <-time.After(time.Minute):
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := g.Do(ctx, "a", slow)
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the first got %v", err)
		}
		if got, err := g.Do(t.Context(), "a", slow); got != 1 || err != nil {
			t.Errorf("the second got %d, %v", got, err)
		}
	})
}

func TestAPanicIsAnError(t *testing.T) {
	var g Group[int]
	_, err := g.Do(t.Context(), "a", func(context.Context) (int, error) { panic("nil map") })
	if err == nil || !strings.Contains(err.Error(), "panic: nil map") {
		t.Errorf("got %v", err)
	}
}
