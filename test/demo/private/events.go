package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// mark is the first character of a sentence.
type mark string

const (
	appeared  mark = "+"
	changed   mark = "~"
	gone      mark = "-"
	good      mark = "✓"
	waiting   mark = "…"
	backstage mark = "·"
)

var colors = map[mark]string{appeared: "\x1b[32m", changed: "\x1b[36m", gone: "\x1b[31m", good: "\x1b[32;1m", waiting: "\x1b[2m", backstage: "\x1b[2m"}

// sentence is one line of the story.
type sentence struct {
	mark        mark
	place, text string
}

// differences tells what happened between two pictures: what is gone, what appeared, what changed.
func differences(before, after picture) []sentence {
	var said []sentence
	for _, key := range before.keys() {
		if t := before[key]; !has(after, key) {
			said = append(said, sentence{gone, t.place, t.kind + " " + t.name})
		}
	}
	for _, key := range after.keys() {
		old, now := before[key], after[key]
		switch {
		case !has(before, key):
			said = append(said, sentence{appeared, now.place, describe(now)})
		case now.dying && !old.dying:
			said = append(said, sentence{changed, now.place, now.kind + " " + now.name + " is being deleted"})
		case old.state != now.state:
			said = append(said, sentence{changed, now.place, fmt.Sprintf("%s %s: %s → %s", now.kind, now.name, old.state, now.state)})
		}
		said = append(said, judgements(old, now)...)
	}
	return said
}

func has(p picture, key string) bool {
	_, ok := p[key]
	return ok
}

func describe(t thing) string {
	if t.state == "" {
		return t.kind + " " + t.name
	}
	return t.kind + " " + t.name + ": " + t.state
}

// judgements tells which conditions turned True, and what a thing waits for, when that is new.
func judgements(old, now thing) []sentence {
	var said []sentence
	for _, told := range words[now.kind] {
		was, is := old.conditions[told.condition], now.conditions[told.condition]
		switch {
		case is.status == "True" && was.status != "True":
			said = append(said, sentence{good, now.place, now.kind + " " + now.name + ": " + told.good})
		case is.status != "True" && is.message != "" && was != is && !told.quiet:
			said = append(said, sentence{waiting, now.place, now.kind + " " + now.name + ": " + is.message})
		}
	}
	return said
}

// narrator prints sentences with the time since the story began.
type narrator struct {
	out     io.Writer
	color   bool
	started time.Time
	mu      sync.Mutex
}

func (n *narrator) say(s sentence) {
	n.mu.Lock()
	defer n.mu.Unlock()
	on, off := "", ""
	if n.color {
		on, off = colors[s.mark], "\x1b[0m"
	}
	fmt.Fprintf(n.out, "%6.1fs  %-18s %s%s %s%s\n", time.Since(n.started).Seconds(), s.place, on, s.mark, s.text, off)
}

// Write takes what the stage says of itself, line by line.
func (n *narrator) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		n.say(sentence{backstage, "stage", strings.TrimSuffix(line, "\n")})
	}
	return len(text), nil
}

// act prints the headline of an act.
func (n *narrator) act(format string, args ...any) {
	on, off := "", ""
	if n.color {
		on, off = "\x1b[1m", "\x1b[0m"
	}
	fmt.Fprintf(n.out, "\n%s%s%s\n", on, fmt.Sprintf(format, args...), off)
}
