// Package management is shared by commands that work on the management cluster: the connection, and waiting for objects.
package management

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
)

// Interval is the time between two reads during a wait.
const Interval = 2 * time.Second

// stallGrace is how long a progress is stalled before Wait ends. Objects that were just created may be missing for the operator.
const stallGrace = 10 * time.Second

// Wait reads until the progress is done or stalled, and shows the waits: a tree on a terminal, otherwise a line for each change. A
// timeout of 0 means no limit.
func Wait(ctx context.Context, env operation.Environment, timeout time.Duration, read func(context.Context) (clusterprogress.Progress, error)) error {
	began := env.Clock.Now()
	v := view{env: env, began: began, last: map[string]string{}}
	tick := env.Clock.NewTicker(Interval)
	defer tick.Stop()
	var stalledSince time.Time
	for {
		p, err := read(ctx)
		waiting := p.Waiting()
		if p.Stalled == "" || stalledSince.IsZero() {
			stalledSince = env.Clock.Now()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !isTransient(err):
			return err
		case err != nil:
			waiting = err.Error()
			v.line("management cluster", "not reachable: "+err.Error())
		default:
			v.show(p)
			if p.Done {
				return nil
			}
			if p.Stalled != "" && env.Clock.Since(stalledSince) >= stallGrace {
				return fmt.Errorf("waiting does not help: %s", p.Stalled)
			}
		}
		if timeout > 0 && env.Clock.Since(began) >= timeout {
			return fmt.Errorf("not done after %s; the same command continues. It waits for: %s", timeout, waiting)
		}
		select {
		case <-tick.C():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isTransient is true for errors after which the next read may work: the API server may restart during a long wait.
func isTransient(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err) ||
		utilnet.IsProbableEOF(err)
}

// view shows progress.
type view struct {
	env   operation.Environment
	began time.Time
	last  map[string]string
	shown int
}

func (v *view) show(p clusterprogress.Progress) {
	if v.env.Terminal {
		v.redraw(p)
		return
	}
	for _, e := range p.Entries {
		v.line(e.Label, e.Text)
	}
}

// line prints a text that differs from the last one about the same.
func (v *view) line(label, text string) {
	if v.last[label] == text {
		return
	}
	v.last[label] = text
	v.shown = 0 // the line ends the tree that is on the terminal
	fmt.Fprintf(v.env.Err, "%s %s: %s\n", v.env.Clock.Now().UTC().Format("15:04:05"), label, text)
}

// redraw replaces the tree.
func (v *view) redraw(p clusterprogress.Progress) {
	var b strings.Builder
	if v.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.shown)
	}
	v.shown = 0
	for _, e := range p.Entries {
		mark := "…"
		if e.Done {
			mark = "✓"
		}
		line := []rune(fmt.Sprintf("%s%s %s  %s", strings.Repeat("  ", e.Depth), mark, e.Label, e.Text))
		if width := max(v.env.Width-1, 20); len(line) > width {
			line = line[:width]
		}
		b.WriteString(string(line) + "\n")
		v.shown++
	}
	if !p.Done {
		fmt.Fprintf(&b, "waiting for %s\n", v.env.Clock.Since(v.began).Round(time.Second))
		v.shown++
	}
	fmt.Fprint(v.env.Err, b.String())
}
