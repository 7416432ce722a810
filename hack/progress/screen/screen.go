// Package screen shows a person how far long work is: on a terminal a bar in the last line, elsewhere a line after each long step and each
// minute.
//
//	[########----------------------]  26 %  4 of 13  about 7 min left  containerd: k8s.io/client-go/rest
package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

// Options configure a screen.
type Options struct {
	Out io.Writer
	// Width is that of the terminal in characters; 0 if it is none.
	Width int
	// Details adds what a step does to the lines that are not on a terminal.
	Details bool
	// Times begins each line that is written with the seconds since New.
	Times bool
	// History is a file with the longest time that each step took in earlier runs, which is a better estimate than Expected: that of a run
	// with nothing cached. Optional.
	History string
	// Now is the time; nil is the clock's.
	Now func() time.Time
}

// Screen is a steps.Reporter. Its methods may be called at the same time.
type Screen struct {
	Options
	mu      sync.Mutex
	steps   []*step
	started time.Time
	taken   map[string]float64 // seconds that steps took before, by their names
	changed map[string]float64 // of these, those of this run
	drawn   bool               // the last line of the terminal is the bar
	shown   time.Time          // when the bar was shown last
	detail  string
}

type step struct {
	steps.Step
	began, ended time.Time
}

// On returns a screen for a file, such as os.Stderr, with the history of this machine.
func On(file *os.File, planned ...steps.Step) (*Screen, error) {
	history, err := pinned.Durations()
	if err != nil {
		return nil, err
	}
	width := 0
	if os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())) {
		width = 80
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			width = columns
		}
	}
	s := New(Options{Out: file, Width: width, History: history, Details: os.Getenv("V") != ""})
	s.Plan(planned...)
	return s, nil
}

// New returns a screen without steps.
func New(o Options) *Screen {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Screen{Options: o, taken: read(o.History), changed: map[string]float64{}, started: o.Now()}
	return s
}

// read returns the times of a history. One that cannot be read is that of another version: the estimates are worse.
func read(file string) map[string]float64 {
	times := map[string]float64{}
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &times) != nil {
		return map[string]float64{}
	}
	return times
}

// Count is the number of steps.
func (s *Screen) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// Plan adds steps. The share of the bar that a step has is that of its expected time.
func (s *Screen) Plan(planned ...steps.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range planned {
		if s.find(p.Name) == nil {
			s.add(p)
		}
	}
}

func (s *Screen) add(p steps.Step) *step {
	if before := s.taken[p.Name]; before > 0 {
		p.Expected = time.Duration(before * float64(time.Second))
	}
	p.Expected = max(p.Expected, time.Second)
	added := &step{Step: p}
	s.steps = append(s.steps, added)
	return added
}

func (s *Screen) find(name string) *step {
	i := slices.IndexFunc(s.steps, func(p *step) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return s.steps[i]
}

// Begin begins a step. One that was not planned is added.
func (s *Screen) Begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := s.find(name)
	if begun == nil {
		begun = s.add(steps.Step{Name: name})
	}
	begun.began, begun.ended = s.Now(), time.Time{}
	s.detail = name
	if s.shown.IsZero() {
		s.shown = begun.began
	}
	s.draw()
}

// At shows what a step does.
func (s *Screen) At(name, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detail = name + ": " + detail
	s.draw()
}

// End ends a step.
func (s *Screen) End(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.find(name)
	if ended == nil || !ended.ended.IsZero() {
		return
	}
	ended.ended = s.Now()
	took := ended.ended.Sub(ended.began)
	if took.Seconds() > s.taken[name] {
		s.taken[name], s.changed[name] = took.Seconds(), took.Seconds()
		s.record()
	}
	if took >= long {
		s.shown = time.Time{}
	}
	s.draw()
}

// record adds the times of this run to the history, to which other processes may have added theirs. Only estimates of later runs depend on
// it: an error does not fail the work.
func (s *Screen) record() {
	if s.History == "" {
		return
	}
	all := read(s.History)
	maps.Copy(all, s.changed)
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil || os.MkdirAll(filepath.Dir(s.History), 0o755) != nil {
		return
	}
	unfinished := fmt.Sprintf("%s.%d", s.History, os.Getpid())
	if os.WriteFile(unfinished, text, 0o644) == nil {
		_ = os.Rename(unfinished, s.History)
	}
}

// Write prints lines, above the bar.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	for line := range strings.Lines(string(text)) {
		if s.Times {
			line = fmt.Sprintf("%6.1f s  %s", s.Now().Sub(s.started).Seconds(), line)
		}
		if _, err := io.WriteString(s.Out, line); err != nil {
			return 0, err
		}
	}
	if s.Width > 0 && s.works() {
		s.draw()
	}
	return len(text), nil
}

// Clear removes the bar from the terminal.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

func (s *Screen) erase() {
	if s.drawn {
		fmt.Fprint(s.Out, erase)
		s.drawn = false
	}
}

// works reports whether a step has begun and not ended.
func (s *Screen) works() bool {
	return slices.ContainsFunc(s.steps, func(p *step) bool { return !p.began.IsZero() && p.ended.IsZero() })
}

// erase returns to the beginning of the line and erases it.
const erase = "\r\x1b[K"

// Without a terminal, a line is printed each minute, and after each long step.
const (
	each = time.Minute
	long = 10 * time.Second
)

func (s *Screen) draw() {
	now := s.Now()
	if s.Width > 0 {
		fmt.Fprint(s.Out, erase+cut(s.line(now), s.Width-1))
		s.drawn = true
		return
	}
	if now.Sub(s.shown) < each {
		return
	}
	s.shown = now
	fmt.Fprintln(s.Out, s.line(now))
}

// length is that of the bar in characters.
const length = 30

func (s *Screen) line(now time.Time) string {
	done, whole, left := s.sums(now)
	finished := 0
	for _, p := range s.steps {
		if !p.ended.IsZero() {
			finished++
		}
	}
	share := done / max(whole, 1)
	filled := int(share * length)
	line := fmt.Sprintf("[%s%s] %3.0f %%  %d of %d", strings.Repeat("#", filled), strings.Repeat("-", length-filled), 100*share, finished, len(s.steps))
	if finished == len(s.steps) {
		return line + "  done: " + s.steps[len(s.steps)-1].Name
	}
	line += "  " + remaining(left)
	if s.Width > 0 || s.Details {
		return line + "  " + s.detail
	}
	name, _, _ := strings.Cut(s.detail, ": ")
	return line + "  " + name
}

// sums are the expected seconds of what is done and of the whole, and how many seconds are left if the rest takes as much longer or shorter
// than expected as what is finished.
func (s *Screen) sums(now time.Time) (done, whole, left float64) {
	var took, expected, rest float64
	for _, p := range s.steps {
		seconds := p.Expected.Seconds()
		whole += seconds
		switch {
		case !p.ended.IsZero():
			done += seconds
			took, expected = took+p.ended.Sub(p.began).Seconds(), expected+seconds
		case !p.began.IsZero():
			// A step that takes longer than expected has not ended all the same.
			part := min(now.Sub(p.began).Seconds(), most*seconds)
			done, rest = done+part, rest+seconds-part
		default:
			rest += seconds
		}
	}
	pace := 1.0
	if expected > 0 {
		pace = min(max(took/expected, 1.0/8), 8)
	}
	return done, whole, rest * pace
}

// most is the largest share of a step that has not ended.
const most = 0.95

func remaining(seconds float64) string {
	if seconds < 60 {
		return "less than a minute left"
	}
	return fmt.Sprintf("about %.0f min left", seconds/60)
}

func cut(line string, width int) string {
	if all := []rune(line); len(all) > width {
		return string(all[:max(width, 0)])
	}
	return line
}
