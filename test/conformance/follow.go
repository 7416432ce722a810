package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// follower reads the output of ginkgo. It copies it to a log, counts specs and reports those that fail.
type follower struct {
	log    io.Writer
	name   string
	total  int
	began  time.Time
	report func(format string, args ...any)

	mu             sync.Mutex
	rest           []byte   // of a line
	last           []string // lines
	passed, failed int
	naming         string // what happened to the spec that the next line names
}

// header is the line of ginkgo for a spec that has ended. ↺ is for one that passed after it had failed.
var header = regexp.MustCompile(`^[•↺] (?:\[([A-Z0-9 -]+)\] )?\[[0-9.]+ seconds\]`)

// labels are what ginkgo adds to the name of a spec.
var labels = regexp.MustCompile(` \[[^\[\]]*\]$`)

func (f *follower) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = append(f.rest, p...)
	for {
		line, rest, complete := bytes.Cut(f.rest, []byte("\n"))
		if !complete {
			break
		}
		f.line(string(line))
		f.rest = slices.Clone(rest)
	}
	return f.log.Write(p)
}

// tailLines is the number of lines that are shown if ginkgo leaves no report.
const tailLines = 30

func (f *follower) line(line string) {
	f.last = append(f.last, line)
	if len(f.last) > tailLines {
		f.last = f.last[1:]
	}
	if f.naming != "" && strings.TrimSpace(line) != "" {
		f.report("%s: %s", f.naming, strings.Replace(labels.ReplaceAllString(strings.TrimSpace(line), ""), "[It] ", "", 1))
		f.naming = ""
	}
	match := header.FindStringSubmatch(line)
	switch {
	case match == nil:
	case match[1] == "":
		f.passed++
	case strings.HasPrefix(match[1], "FLAKEY"):
		f.passed++
		f.naming = "FAILED ONCE"
	default:
		f.failed++
		f.naming = "FAILED"
	}
}

// beat reports every half minute, until stop is called.
func (f *follower) beat() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(30 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				f.count()
			}
		}
	})
	return func() { close(done); wg.Wait(); f.count() }
}

func (f *follower) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report("%s: %d of %d specs passed, %d failed, after %s", f.name, f.passed, f.total, f.failed, time.Since(f.began).Round(time.Second))
}

func (f *follower) tail() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.last, "\n")
}
