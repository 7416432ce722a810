package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type scope struct{ ran []string }

// step returns a step that has that outcome, and a condition of the same name.
func step(name string, outcome error) Step[*scope] {
	return Step[*scope]{Name: name, Condition: name, Run: func(_ context.Context, s *scope) error {
		s.ran = append(s.ran, name)
		return outcome
	}}
}

var (
	errBoom     = errors.New("boom")
	errConflict = apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "a", errBoom)
)

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		steps       []Step[*scope]
		statusErr   error
		wantRan     []string
		wantAfter   time.Duration
		wantErr     string
		wantStopped map[string]string
	}{
		"all steps run if each is done": {
			steps:   []Step[*scope]{step("a", nil), step("b", nil)},
			wantRan: []string{"a", "b"},
		},
		"a wait stops the steps that follow": {
			steps:       []Step[*scope]{step("a", Wait(time.Minute, "Young", "a is young")), step("b", nil)},
			wantRan:     []string{"a"},
			wantAfter:   time.Minute,
			wantStopped: map[string]string{"b": "a"},
		},
		"steps of a group do not stop each other, and the shortest wait counts": {
			steps: []Step[*scope]{
				Group(step("a", Wait(time.Minute, "Young", "")), step("b", Wait(time.Second, "Young", ""))),
				step("c", nil),
			},
			wantRan:     []string{"a", "b"},
			wantAfter:   time.Second,
			wantStopped: map[string]string{"c": "a"},
		},
		"a block leads to no requeue": {
			steps:       []Step[*scope]{step("a", Block("Bad", "a is bad")), step("b", nil)},
			wantRan:     []string{"a"},
			wantStopped: map[string]string{"b": "a"},
		},
		"an unknown outcome stops the steps that follow": {
			steps:       []Step[*scope]{step("a", Unknown(time.Second, "NoAnswer", "")), step("b", nil)},
			wantRan:     []string{"a"},
			wantAfter:   time.Second,
			wantStopped: map[string]string{"b": "a"},
		},
		"an unverified step is done": {
			steps:   []Step[*scope]{step("a", Unverified("NotOurs", "")), step("b", nil)},
			wantRan: []string{"a", "b"},
		},
		"an unverified step may wait": {
			steps:       []Step[*scope]{step("a", Unverified("NotOurs", "").With(Wait(time.Second, "Young", ""))), step("b", nil)},
			wantRan:     []string{"a"},
			wantAfter:   time.Second,
			wantStopped: map[string]string{"b": "a"},
		},
		"a conflict in a step is no error": {
			steps:       []Step[*scope]{step("a", errConflict), step("b", nil)},
			wantRan:     []string{"a"},
			wantAfter:   conflictDelay,
			wantStopped: map[string]string{"b": "a"},
		},
		"a panic is an error of its step": {
			steps:       []Step[*scope]{Group(Step[*scope]{Name: "a", Run: func(context.Context, *scope) error { panic("oh") }}, step("b", nil)), step("c", nil)},
			wantRan:     []string{"b"},
			wantErr:     "a: panic: oh",
			wantStopped: map[string]string{"c": "a"},
		},
		"an error outweighs a wait": {
			steps:   []Step[*scope]{Group(step("a", errBoom), step("b", Wait(time.Second, "Young", "")))},
			wantRan: []string{"a", "b"},
			wantErr: "a: boom",
		},
		"a wait for a watch leads to no requeue": {
			steps:   []Step[*scope]{step("a", Wait(0, "Young", ""))},
			wantRan: []string{"a"},
		},
		"a wait for a watch keeps the time of another wait": {
			steps:     []Step[*scope]{Group(step("a", Wait(time.Minute, "Young", "")), step("b", Wait(0, "Young", "")))},
			wantRan:   []string{"a", "b"},
			wantAfter: time.Minute,
		},
		"a conflict in writing the status is no error": {
			steps:     []Step[*scope]{step("a", nil)},
			statusErr: errConflict,
			wantRan:   []string{"a"},
			wantAfter: 100 * time.Millisecond,
		},
		"a status that cannot be written is an error": {
			steps:     []Step[*scope]{step("a", nil)},
			statusErr: errBoom,
			wantRan:   []string{"a"},
			wantErr:   "writing status: boom",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{}
			report := Run(t.Context(), s, tc.steps...)
			res, err := report.result(tc.statusErr)
			if got := message(err); got != tc.wantErr {
				t.Errorf("error %q, want %q", got, tc.wantErr)
			}
			if res.RequeueAfter != tc.wantAfter {
				t.Errorf("comes back after %v, want %v", res.RequeueAfter, tc.wantAfter)
			}
			if !slices.Equal(s.ran, tc.wantRan) {
				t.Errorf("ran %v, want %v", s.ran, tc.wantRan)
			}
			for _, o := range report {
				got := ""
				if o.Stopper != nil {
					got = o.Stopper.Step
				}
				if got != tc.wantStopped[o.Step] {
					t.Errorf("step %s was stopped by %q, want %q", o.Step, got, tc.wantStopped[o.Step])
				}
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
