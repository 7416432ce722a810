package main

import (
	"bytes"
	"fmt"
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
	skipped        int    // by themselves
	naming         string // state of the spec that the next line names
}

// header is the line of ginkgo for a spec that has ended. ↺ is for a spec that passed after it had failed.
var header = regexp.MustCompile(`^[•↺] (?:\[([A-Z0-9 -]+)\] )?\[[0-9.]+ seconds\]`)

// skipHeader is the beginning of the line of ginkgo for a spec that skipped itself.
const skipHeader = "S [SKIPPED] ["

// labels are the labels that ginkgo adds to the name of a spec.
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
	case strings.HasPrefix(line, skipHeader):
		f.skipped++
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
func (f *follower) beat() (stop func()) { return every(30*time.Second, f.count) }

// every calls a function again and again until stop is called, and then once more.
func every(interval time.Duration, call func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				call()
			}
		}
	})
	return func() { close(done); wg.Wait(); call() }
}

func (f *follower) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("%d of %d specs passed, %d failed", f.passed, f.total, f.failed)
	if f.skipped > 0 {
		text += fmt.Sprintf(", %d skipped themselves", f.skipped)
	}
	f.report("%s: %s, after %s", f.name, text, time.Since(f.began).Round(time.Second))
}

func (f *follower) tail() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.last, "\n")
}
