package operation

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

var events = []rg.Event{
	{Phase: rg.Creating},
	{Phase: rg.Retrying, Err: errors.New("throttled")},
	{Phase: rg.Retrying, Err: errors.New("throttled")},
	{Phase: rg.Created, ID: "nat-1"},
	{Phase: rg.Waiting, ID: "nat-1", Detail: "state pending"},
	{Phase: rg.Waiting, ID: "nat-1", Detail: "state pending"},
	{Phase: rg.Ready, ID: "nat-1"},
}

func play(terminal bool) string {
	var out bytes.Buffer
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p := newProgress(Environment{Err: &out, Terminal: terminal, Width: 60, Clock: clk})
	p.live = terminal
	for _, e := range events {
		e.Node, e.Time = &rg.Node{ID: "nat", Kind: "NAT gateway", Name: "demo-nat"}, clk.Now()
		p.event(e)
	}
	return out.String()
}

func TestLogHasEachChangeOnce(t *testing.T) {
	want := `03:04:05 NAT gateway demo-nat retrying: throttled
03:04:05 created NAT gateway demo-nat (nat-1)
03:04:05 NAT gateway demo-nat (nat-1) waiting: state pending
03:04:05 ready NAT gateway demo-nat (nat-1)
`
	if got := play(false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A deletion may wait for minutes, and its state does not change meanwhile.
func TestWaitOfMinutesIsPrintedEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(Environment{Err: &out, Clock: clock.RealClock{}})
		stop := p.start(t.Context())
		n := &rg.Node{ID: "nat", Kind: "NAT gateway", Name: "demo-nat"}
		p.event(rg.Event{Node: n, Phase: rg.Deleting, Time: time.Now()})
		time.Sleep(35 * time.Second)
		stop()
		if lines := strings.Count(out.String(), "deleting NAT gateway demo-nat ["); lines != 3 || !strings.Contains(out.String(), "[30s]") {
			t.Errorf("the output of 35 seconds is\n%s", out.String())
		}
	})
}

func TestLiveViewEndsWithWhatWasDone(t *testing.T) {
	// A terminal carries out: up n lines and erase.
	var screen []string
	for _, part := range strings.SplitAfter(play(true), "\n") {
		for strings.HasPrefix(part, "\x1b[") {
			if len(screen) == 0 {
				t.Fatal("the view erases lines that it has not written")
			}
			screen = screen[:len(screen)-1] // one line is in progress in this test
			part = strings.TrimPrefix(part, "\x1b[1A\x1b[J")
		}
		if part != "" {
			screen = append(screen, strings.TrimRight(part, "\n"))
		}
	}
	want := []string{"created NAT gateway demo-nat (nat-1)", "ready NAT gateway demo-nat (nat-1)"}
	if strings.Join(screen, "\n") != strings.Join(want, "\n") {
		t.Errorf("the screen shows\n%s", strings.Join(screen, "\n"))
	}
}
