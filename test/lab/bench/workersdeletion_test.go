package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
)

func TestEachPartOfADeletionHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		after := func(d time.Duration) func(context.Context) (bool, error) {
			return func(context.Context) (bool, error) { return time.Since(began) >= d, nil }
		}
		got, err := untilGone(t.Context(), began, []part{
			{"pods", after(3 * time.Second)},
			{"HostedCluster", after(9 * time.Second)},
			{"comes back", func(context.Context) (bool, error) {
				since := time.Since(began)
				return since < 2*time.Second || since >= 5*time.Second, nil
			}},
		})
		if err != nil || got.String() != "pods 3 s, HostedCluster 9 s, comes back 5 s" || got.total() != 9 {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestDeletionThatLeavesSomethingIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if got, err := untilGone(t.Context(), began, []part{{"volumes", func(context.Context) (bool, error) { return false, nil }}}); err == nil || time.Since(began) < disruption.Timeout {
			t.Errorf("%s, %v", got, err)
		}
		unreachable := errors.New("unreachable")
		if got, err := untilGone(t.Context(), began, []part{{"volumes", func(context.Context) (bool, error) { return false, unreachable }}}); !errors.Is(err, unreachable) {
			t.Errorf("%s, %v", got, err)
		}
	})
}
