package consistency_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/consistency"
)

func TestWindow(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	w := consistency.NewWindow(clock)
	want := func(uid string, want time.Duration) {
		t.Helper()
		if got := w.Remaining("a"); uid == "a" && got != want {
			t.Errorf("%s remains for a, want %s", got, want)
		}
		if got := w.Remaining("b"); uid == "b" && got != want {
			t.Errorf("%s remains for b, want %s", got, want)
		}
	}
	want("a", awsx.ConsistencyWindow)
	clock.Step(10 * time.Second)
	want("a", awsx.ConsistencyWindow-10*time.Second)
	clock.Step(awsx.ConsistencyWindow)
	want("a", 0)
	w.Forget("a")
	want("a", awsx.ConsistencyWindow)
	w.Forget("b")
	w.Pass("b")
	want("b", 0)
}
