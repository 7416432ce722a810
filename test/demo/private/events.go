package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// mark is the first character of an event.
type mark string

const (
	appeared mark = "+"
	changed  mark = "~"
	gone     mark = "-"
	good     mark = "✓"
	waiting  mark = "…"
	progress mark = "·"
)

var colors = map[mark]string{appeared: "\x1b[32m", changed: "\x1b[36m", gone: "\x1b[31m", good: "\x1b[32;1m", waiting: "\x1b[2m", progress: "\x1b[2m"}

// event is one line of output.
type event struct {
	mark        mark
	place, text string
}

// differences returns the events between two snapshots: deleted, created and changed things.
func differences(before, after snapshot) []event {
	var events []event
	for _, key := range before.keys() {
		if t := before[key]; !has(after, key) {
			events = append(events, event{gone, t.place, t.kind + " " + t.name})
		}
	}
	for _, key := range after.keys() {
		old, now := before[key], after[key]
		switch {
		case !has(before, key):
			events = append(events, event{appeared, now.place, describe(now)})
		case now.dying && !old.dying:
			events = append(events, event{changed, now.place, now.kind + " " + now.name + " is being deleted"})
		case old.state != now.state:
			events = append(events, event{changed, now.place, fmt.Sprintf("%s %s: %s → %s", now.kind, now.name, old.state, now.state)})
		}
		events = append(events, conditionEvents(old, now)...)
	}
	return events
}

func has(p snapshot, key string) bool {
	_, ok := p[key]
	return ok
}

func describe(t thing) string {
	if t.state == "" {
		return t.kind + " " + t.name
	}
	return t.kind + " " + t.name + ": " + t.state
}

// conditionEvents returns the conditions that turned True, and the new reasons for which a thing waits.
func conditionEvents(old, now thing) []event {
	var events []event
	for _, c := range conditionTexts[now.kind] {
		was, is := old.conditions[c.condition], now.conditions[c.condition]
		switch {
		case is.status == "True" && was.status != "True":
			events = append(events, event{good, now.place, now.kind + " " + now.name + ": " + c.good})
		case is.status != "True" && is.message != "" && was != is && !c.quiet:
			events = append(events, event{waiting, now.place, now.kind + " " + now.name + ": " + is.message})
		}
	}
	return events
}

// printer prints events with the time since the start.
type printer struct {
	out     io.Writer
	color   bool
	started time.Time
	mu      sync.Mutex
}

func (p *printer) print(s event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	on, off := "", ""
	if p.color {
		on, off = colors[s.mark], "\x1b[0m"
	}
	fmt.Fprintf(p.out, "%6.1fs  %-18s %s%s %s%s\n", time.Since(p.started).Seconds(), s.place, on, s.mark, s.text, off)
}

// Write prints the output of the environment.
func (p *printer) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		p.print(event{progress, "environment", strings.TrimSuffix(line, "\n")})
	}
	return len(text), nil
}

// phase prints the headline of a phase.
func (p *printer) phase(format string, args ...any) {
	on, off := "", ""
	if p.color {
		on, off = "\x1b[1m", "\x1b[0m"
	}
	fmt.Fprintf(p.out, "\n%s%s%s\n", on, fmt.Sprintf(format, args...), off)
}
