package screen

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

var _ steps.Reporter = (*Screen)(nil)

// watched is a screen with a clock of its own.
type watched struct {
	*Screen
	out strings.Builder
	now time.Time
}

func newWatched(o Options) *watched {
	w := &watched{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	o.Out, o.Now = &w.out, func() time.Time { return w.now }
	w.Screen = New(o)
	w.Plan(steps.Step{Name: "etcd", Expected: time.Minute}, steps.Step{Name: "kubernetes", Expected: 3 * time.Minute})
	return w
}

// expect fails the test unless the output since the last call is text.
func (w *watched) expect(t *testing.T, text string) {
	t.Helper()
	if got := w.out.String(); got != text {
		t.Errorf("got\n%q, want\n%q", got, text)
	}
	w.out.Reset()
}

func TestBarOfATerminal(t *testing.T) {
	w := newWatched(Options{Width: 120})
	w.Begin("etcd")
	w.expect(t, "\r\x1b[K[------------------------------]   0 %  0 of 2  about 4 min left  etcd")
	w.now = w.now.Add(30 * time.Second)
	w.At("etcd", "golang.org/x/net")
	w.expect(t, "\r\x1b[K[###---------------------------]  12 %  0 of 2  about 4 min left  etcd: golang.org/x/net")
	fmt.Fprintln(w, "a line")
	w.expect(t, "\r\x1b[Ka line\n\r\x1b[K[###---------------------------]  12 %  0 of 2  about 4 min left  etcd: golang.org/x/net")
	w.now = w.now.Add(90 * time.Second)
	w.End("etcd") // after twice the expected time, like all others
	w.expect(t, "\r\x1b[K[#######-----------------------]  25 %  1 of 2  about 6 min left  etcd: golang.org/x/net")
	fmt.Fprintln(w, "nothing is built now")
	w.expect(t, "\r\x1b[Knothing is built now\n")
	w.Begin("kubernetes")
	w.now = w.now.Add(time.Hour)
	w.At("kubernetes", "linking")
	if !strings.Contains(w.out.String(), " 96 %  1 of 2  less than a minute left  kubernetes: linking") {
		t.Errorf("a step that takes long is shown as %q", w.out.String())
	}
	w.End("kubernetes")
	w.out.Reset()
	w.Clear()
	w.expect(t, "\r\x1b[K")
}

func TestBarFitsIntoTheTerminal(t *testing.T) {
	w := newWatched(Options{Width: 40})
	w.Begin("etcd")
	w.At("etcd", strings.Repeat("x", 100))
	for _, line := range strings.Split(w.out.String(), erase) {
		if len(line) > 39 {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
}

func TestLinesElsewhere(t *testing.T) {
	w := newWatched(Options{})
	w.Begin("etcd")
	w.At("etcd", "golang.org/x/net")
	w.expect(t, "")
	fmt.Fprintln(w, "a line")
	w.expect(t, "a line\n")
	w.now = w.now.Add(time.Minute)
	w.At("etcd", "golang.org/x/net")
	w.expect(t, "[#######-----------------------]  24 %  0 of 2  about 3 min left  etcd\n")
	w.End("etcd")
	w.expect(t, "[#######-----------------------]  25 %  1 of 2  about 3 min left  etcd\n")
	w.Begin("helm") // was not planned
	w.End("helm")
	w.expect(t, "") // it took no time
	w.Begin("kubernetes")
	w.now = w.now.Add(20 * time.Second)
	w.End("kubernetes")
	if !strings.HasSuffix(w.out.String(), "[##############################] 100 %  3 of 3  done: helm\n") {
		t.Errorf("at the end: %q", w.out.String())
	}
}

func TestNextRunExpectsTheTimesOfTheLast(t *testing.T) {
	history := filepath.Join(t.TempDir(), "cache", "steps.json")
	first := newWatched(Options{History: history})
	first.Begin("etcd")
	first.now = first.now.Add(9 * time.Minute)
	first.End("etcd")
	next := newWatched(Options{History: history})
	next.Begin("etcd")
	next.now = next.now.Add(time.Minute)
	next.At("etcd", "")
	next.expect(t, "[##----------------------------]   8 %  0 of 2  about 11 min left  etcd\n")
	next.End("etcd") // from a cache: the longest time is kept
	last := newWatched(Options{History: history})
	last.Begin("etcd")
	last.now = last.now.Add(time.Minute)
	last.At("etcd", "")
	last.expect(t, "[##----------------------------]   8 %  0 of 2  about 11 min left  etcd\n")
}
