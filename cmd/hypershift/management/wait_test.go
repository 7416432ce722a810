package management

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
)

func entry(done bool, text string) clusterprogress.Progress {
	return clusterprogress.Progress{Done: done, Entries: []clusterprogress.Entry{{Name: "a", Label: "NodePool a", Done: done, Text: text}}}
}

// result is the result of a read.
type result struct {
	progress clusterprogress.Progress
	err      error
}

// wait waits while the clock goes on, and returns the printed text. The last result is repeated.
func wait(t *testing.T, terminal bool, timeout time.Duration, results ...result) (string, error) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var out bytes.Buffer
	env := operation.Environment{Err: &out, Clock: clock, Terminal: terminal, Width: 40}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if clock.HasWaiters() {
				clock.Step(Interval)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	reads := 0
	err := Wait(ctx, env, timeout, func(context.Context) (clusterprogress.Progress, error) {
		r := results[min(reads, len(results)-1)]
		reads++
		return r.progress, r.err
	})
	return out.String(), err
}

func TestALogHasALineForEachChange(t *testing.T) {
	out, err := wait(t, false, 0, result{entry(false, "0 of 1 nodes"), nil}, result{entry(false, "0 of 1 nodes"), nil}, result{entry(true, "1 of 1 nodes"), nil})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], " NodePool a: 0 of 1 nodes") || !strings.HasSuffix(lines[1], " NodePool a: 1 of 1 nodes") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestATerminalShowsATreeThatIsReplaced(t *testing.T) {
	out, err := wait(t, true, 0, result{entry(false, "0 of 1 nodes: one machine starts, which takes a while"), nil}, result{entry(true, "1 of 1 nodes"), nil})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "\x1b[2A\x1b[J✓ NodePool a  1 of 1 nodes\n") {
		t.Errorf("printed:\n%q", out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if n := len([]rune(strings.TrimPrefix(line, "\x1b[2A\x1b[J"))); n > 39 {
			t.Errorf("a line of %d characters breaks in a terminal of 40: %q", n, line)
		}
	}
}

func TestAStallEndsTheWait(t *testing.T) {
	stalled := entry(false, "0 of 1 nodes")
	stalled.Stalled = "ValidReleaseImage: push it"
	out, err := wait(t, false, time.Hour, result{stalled, nil})
	if err == nil || err.Error() != "waiting does not help: ValidReleaseImage: push it" {
		t.Errorf("error %v, printed:\n%s", err, out)
	}
	// A stall of a moment does not count.
	if out, err := wait(t, false, time.Hour, result{stalled, nil}, result{stalled, nil}, result{entry(false, "0 of 1 nodes"), nil}, result{stalled, nil}, result{entry(true, "1 of 1 nodes"), nil}); err != nil {
		t.Errorf("error %v, printed:\n%s", err, out)
	}
}

func TestATimeoutNamesWhatIsWaitedFor(t *testing.T) {
	_, err := wait(t, false, time.Minute, result{entry(false, "0 of 1 nodes"), nil})
	if err == nil || !strings.Contains(err.Error(), "not done after 1m0s") || !strings.Contains(err.Error(), "NodePool a: 0 of 1 nodes") {
		t.Errorf("error %v", err)
	}
}

func TestAnAPIServerThatRestartsIsWaitedFor(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("restarting")
	out, err := wait(t, false, time.Minute, result{err: unavailable}, result{err: unavailable}, result{entry(true, "1 of 1 nodes"), nil})
	if err != nil || strings.Count(out, "not reachable") != 1 {
		t.Errorf("error %v, printed:\n%s", err, out)
	}
	denied := errors.New("denied")
	if _, err := wait(t, false, time.Minute, result{err: denied}); !errors.Is(err, denied) {
		t.Errorf("error %v", err)
	}
}
