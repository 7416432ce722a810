package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// progress prints events. On a terminal the last lines are the activities in progress. Otherwise each change is a line, and the
// activities in progress are printed again after each silence of that length.
type progress struct {
	env Environment
	mu  sync.Mutex
	// last is the time of the last line.
	last time.Time
	// active are the activities in progress, in the order of their start.
	active []*activity
	shown  int
	live   bool
}

// silence is how long no line is printed while an activity is in progress.
const silence = 10 * time.Second

type activity struct {
	label, text string
	since       time.Time
	printed     string
}

func newProgress(env Environment) *progress { return &progress{env: env} }

// start shows the activities in progress until the returned function is called.
func (p *progress) start(ctx context.Context) (stop func()) {
	p.live = p.env.Terminal
	p.last = p.env.Clock.Now()
	ctx, cancel := context.WithCancel(ctx)
	var ticking sync.WaitGroup
	tick := p.env.Clock.NewTicker(time.Second)
	ticking.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C():
				p.tick()
			}
		}
	})
	return func() {
		cancel()
		ticking.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.active = nil
		if p.live {
			p.redraw("")
		}
		p.live = false
	}
}

// tick shows how long it takes.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.redraw("")
		return
	}
	now := p.env.Clock.Now()
	if now.Sub(p.last) < silence {
		return
	}
	for i, a := range p.active {
		if i == maxActive {
			p.line(now, fmt.Sprintf("... and %d more", len(p.active)-maxActive))
			break
		}
		p.line(now, fmt.Sprintf("%s [%s]", a.text, now.Sub(a.since).Round(time.Second)))
	}
}

func (p *progress) event(e rg.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	label := e.Label()
	if e.ID != "" && e.ID != e.Node.Name {
		label += " (" + e.ID + ")"
	}
	text := string(e.Phase)
	switch e.Phase {
	case rg.Waiting:
		text = "waiting: " + e.Detail
	case rg.Retrying:
		text = "retrying: " + awsx.Message(e.Err)
	case rg.Failed:
		text = "failed: " + awsx.Message(e.Err)
	case rg.Skipped:
		text = "skipped: something that it depends on has failed"
	}
	i := slices.IndexFunc(p.active, func(a *activity) bool { return a.label == e.Node.ID })
	switch e.Phase {
	case rg.Creating, rg.Updating, rg.Deleting, rg.Waiting, rg.Retrying:
		if i < 0 {
			i = len(p.active)
			p.active = append(p.active, &activity{label: e.Node.ID, since: e.Time})
		}
		a := p.active[i]
		a.text = text + " " + label
		if e.Phase == rg.Waiting || e.Phase == rg.Retrying {
			a.text = label + " " + text
		}
		if p.live {
			p.redraw("")
		} else if a.printed != a.text && e.Phase != rg.Creating && e.Phase != rg.Deleting && e.Phase != rg.Updating {
			// Repetitions of the same wait are one line.
			a.printed = a.text
			p.line(e.Time, a.text)
		}
	default:
		if i >= 0 {
			p.active = slices.Delete(p.active, i, i+1)
		}
		done := text + " " + label
		if e.Phase == rg.Failed || e.Phase == rg.Skipped {
			done = label + " " + text
		}
		if p.live {
			p.redraw(done)
		} else {
			p.line(e.Time, done)
		}
	}
}

func (p *progress) line(at time.Time, text string) {
	p.last = at
	fmt.Fprintf(p.env.Err, "%s %s\n", at.UTC().Format("15:04:05"), text)
}

// maxActive is how many lines the live view has.
const maxActive = 10

// redraw replaces the live lines, after a line that stays.
func (p *progress) redraw(done string) {
	var b strings.Builder
	if p.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", p.shown)
	}
	if done != "" {
		b.WriteString(done + "\n")
	}
	p.shown = 0
	for i, a := range p.active {
		if i == maxActive {
			fmt.Fprintf(&b, "  ... and %d more\n", len(p.active)-maxActive)
			p.shown++
			break
		}
		text := fmt.Sprintf("  %s [%s]", a.text, p.env.Clock.Since(a.since).Round(time.Second))
		if width := max(p.env.Width-1, 20); len(text) > width {
			text = text[:width]
		}
		b.WriteString(text + "\n")
		p.shown++
	}
	fmt.Fprint(p.env.Err, b.String())
}
