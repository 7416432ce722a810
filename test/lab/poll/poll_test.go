package poll

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// Each step is one tick: the results of Changed and read, and whether read must be called.
func TestLoopReadsAfterChangesFailuresAndTransitions(t *testing.T) {
	type step struct {
		changed   bool
		changeErr error
		settled   bool
		readErr   error
		wantRead  bool
	}
	lost := errors.New("the connection was lost")
	for sentence, steps := range map[string][]step{
		"the first time":                    {{settled: true, wantRead: true}, {}, {}},
		"after a change":                    {{settled: true, wantRead: true}, {changed: true, settled: true, wantRead: true}, {}},
		"while a resource is in transition": {{wantRead: true}, {wantRead: true}, {settled: true, wantRead: true}, {}},
		"after a failure":                   {{readErr: lost, wantRead: true}, {settled: true, wantRead: true}, {}},
		"after a failed check for changes":  {{settled: true, wantRead: true}, {changeErr: lost}, {settled: true, wantRead: true}, {}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var now step
			read := false
			var progress strings.Builder
			l := New("names", Options{
				Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Progress: &progress,
				Changed: func(context.Context) (bool, error) { return now.changed, now.changeErr },
			}, func(context.Context) (bool, error) {
				read = true
				return now.settled, now.readErr
			})
			for i, s := range steps {
				now, read = s, false
				l.pass(t.Context())
				if read != s.wantRead {
					t.Errorf("step %d: read is %v", i+1, read)
				}
				if troubled := s.readErr != nil || s.changeErr != nil; troubled != (l.Trouble() != "") {
					t.Errorf("step %d: the trouble is %q", i+1, l.Trouble())
				}
			}
		})
	}
}

func TestErrorIsReportedOnce(t *testing.T) {
	var progress strings.Builder
	var err error
	l := New("names", Options{Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Progress: &progress}, func(context.Context) (bool, error) { return true, err })
	for _, err = range []error{errors.New("throttled"), errors.New("throttled"), nil, errors.New("denied")} {
		l.pass(t.Context())
	}
	if want := "names: throttled\nnames: denied\n"; progress.String() != want {
		t.Errorf("reported %q, want %q", progress.String(), want)
	}
}
