package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is the timeout of one step. The emulator's own delays are fractions of a second; the rest is for the machine.
const patience = 60 * time.Second

const (
	// making is the timeout for machines: Cluster API, its provider and the kubelet wait for each other, with different
	// intervals.
	making = 2 * time.Minute
	// vanishing is longer: the lease of a killed operator must expire, and resources that may just have been created in
	// AWS must become visible before the deletion can be complete.
	vanishing = 3 * time.Minute
	// repair is longer: for one minute, an operator trusts its own write more than a list of AWS.
	repair = 2 * time.Minute
)

// eventually waits until check returns no error, and fails with its last error. The context is the test's, or during
// clean-up a context that has not ended.
func eventually(ctx context.Context, t *testing.T, what string, check func() error) {
	t.Helper()
	within(ctx, t, patience, what, check)
}

func within(ctx context.Context, t *testing.T, patience time.Duration, what string, check func() error) {
	t.Helper()
	lastErr := errors.New("not checked")
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		lastErr = check()
		return lastErr == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: timeout after %s: %v", what, patience, lastErr)
	}
}
