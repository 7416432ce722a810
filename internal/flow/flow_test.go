package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hosted-control-planes/hypershift/internal/flow"
)

type scope struct{ ran []string }

func say(name string, err error) flow.Step[*scope] {
	return flow.Step[*scope]{Name: name, Condition: name, Run: func(_ context.Context, s *scope) error {
		s.ran = append(s.ran, name)
		return err
	}}
}

var (
	errBoom     = errors.New("boom")
	errConflict = apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "a", errBoom)
)

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		steps       []flow.Step[*scope]
		closeErr    error
		wantRan     []string
		wantAfter   time.Duration
		wantErr     string
		wantStopped map[string]string
	}{
		"every step runs while all is well": {
			steps:   []flow.Step[*scope]{say("a", nil), say("b", nil)},
			wantRan: []string{"a", "b"},
		},
		"a step that waits stops what follows it": {
			steps:       []flow.Step[*scope]{say("a", flow.Wait(time.Minute, "Young", "a is young")), say("b", nil)},
			wantRan:     []string{"a"},
			wantAfter:   time.Minute,
			wantStopped: map[string]string{"b": "a"},
		},
		"steps of a group do not stop each other, and the soonest wait wins": {
			steps: []flow.Step[*scope]{
				flow.All(say("a", flow.Wait(time.Minute, "Young", "")), say("b", flow.Wait(time.Second, "Young", ""))),
				say("c", nil),
			},
			wantRan:     []string{"a", "b"},
			wantAfter:   time.Second,
			wantStopped: map[string]string{"c": "a"},
		},
		"a block waits for the object to change": {
			steps:       []flow.Step[*scope]{say("a", flow.Block("Bad", "a is bad")), say("b", nil)},
			wantRan:     []string{"a"},
			wantStopped: map[string]string{"b": "a"},
		},
		"a failure outweighs a wait": {
			steps:   []flow.Step[*scope]{flow.All(say("a", errBoom), say("b", flow.Wait(time.Second, "Young", "")))},
			wantRan: []string{"a", "b"},
			wantErr: "a: boom",
		},
		"a wait without a time is announced by a watch": {
			steps:   []flow.Step[*scope]{say("a", flow.Wait(0, "Young", ""))},
			wantRan: []string{"a"},
		},
		"a wait for a watch does not take away the timer of another": {
			steps:     []flow.Step[*scope]{flow.All(say("a", flow.Wait(time.Minute, "Young", "")), say("b", flow.Wait(0, "Young", "")))},
			wantRan:   []string{"a", "b"},
			wantAfter: time.Minute,
		},
		"a lost race is a quiet repeat": {
			steps:     []flow.Step[*scope]{say("a", nil)},
			closeErr:  errConflict,
			wantRan:   []string{"a"},
			wantAfter: 100 * time.Millisecond,
		},
		"a status that could not be written is a failure": {
			steps:    []flow.Step[*scope]{say("a", nil)},
			closeErr: errBoom,
			wantRan:  []string{"a"},
			wantErr:  "writing status: boom",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{}
			report := flow.Run(t.Context(), s, tc.steps...)
			res, err := report.Result(tc.closeErr)
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
