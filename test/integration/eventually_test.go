package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is for one step of a story. The emulator's own delays are fractions of a second; the rest is the machine.
const patience = 60 * time.Second

const (
	// making is for machines: Cluster API, its provider and the kubelet wait for one another, and each has its own pace.
	making = 2 * time.Minute
	// vanishing takes longer: an operator that died holds its lease for a while, and what may just have been made in AWS is waited
	// for before it is said that nothing is left.
	vanishing = 3 * time.Minute
	// repair takes longer: for a minute an operator believes what it has just written more than what AWS lists.
	repair = 2 * time.Minute
)

// eventually waits until check has nothing to complain about. When it still has at the end, the last complaint is the failure.
// The context is that of the test, or in a clean-up, where that has ended, one that goes on.
func eventually(ctx context.Context, t *testing.T, what string, check func() error) {
	t.Helper()
	within(ctx, t, patience, what, check)
}

func within(ctx context.Context, t *testing.T, patience time.Duration, what string, check func() error) {
	t.Helper()
	complaint := errors.New("not checked once")
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		complaint = check()
		return complaint == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, patience, complaint)
	}
}
