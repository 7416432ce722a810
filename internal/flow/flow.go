// Package flow runs the steps of a reconciler in the order they are written
// and remembers what each of them said. Its Report becomes the conditions of
// the object (package conditions) and the result of the reconcile.
package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
)

// ReconcileTimeout is how long a reconcile may take: longer than any call of AWS
// with its retries, and short enough that what hangs nevertheless gives its worker
// back. Both operators give it to all of their controllers.
const ReconcileTimeout = 5 * time.Minute

// A Step does one thing to the scope S. Its condition, if it has one, is the
// condition of the object that this step alone answers for.
type Step[S any] struct {
	Name      string
	Condition string
	Run       func(context.Context, S) error
	all       []Step[S]
}

// All groups steps that do not need what another of them makes: each of them
// runs whatever the others return, and what follows the group waits for all.
func All[S any](steps ...Step[S]) Step[S] { return Step[S]{all: steps} }

// An Outcome is what one step said. A step that did not run has Stopper, the
// outcome that stood before it.
type Outcome struct {
	Step, Condition string
	Err             error
	Stopper         *Outcome
}

// A Report is the outcome of every step, in order.
type Report []Outcome

// Run runs the steps until one of them returns an error; the rest are skipped.
func Run[S any](ctx context.Context, s S, steps ...Step[S]) Report {
	var report Report
	var stopper *Outcome
	for _, step := range steps {
		group := step.all
		if group == nil {
			group = []Step[S]{step}
		}
		before := stopper
		for _, st := range group {
			out := Outcome{Step: st.Name, Condition: st.Condition, Stopper: before}
			if before == nil {
				out.Err = st.Run(ctx, s)
			}
			if out.Err != nil && stopper == nil {
				stopper = &out
			}
			report = append(report, out)
		}
	}
	return report
}

// Done says whether every step ran and none of them had anything to say.
func (r Report) Done() bool {
	for _, o := range r {
		if o.Err != nil || o.Stopper != nil {
			return false
		}
	}
	return true
}

// As is the report under a single condition: what stood in the way first.
func (r Report) As(condition string) Report {
	one := Outcome{Condition: condition}
	for _, o := range r {
		if o.Err != nil {
			one.Err = o.Err
			break
		}
	}
	return Report{one}
}

// Result is what the reconciler returns: a failure retries with backoff, a
// wait comes back when it asked to, a block waits for the object to change.
// closeErr is the error of writing the status. Losing a race against another
// writer is no failure: the pass is repeated with the newer object.
func (r Report) Result(closeErr error) (ctrl.Result, error) {
	var res ctrl.Result
	var errs []error
	soonest := func(after time.Duration) {
		// Who waits for a watch, after 0, takes nobody's timer away.
		if after > 0 && (res.RequeueAfter == 0 || after < res.RequeueAfter) {
			res.RequeueAfter = after
		}
	}
	judge := func(step string, err error) {
		var wait *Waiting
		var block *Blocked
		switch {
		case err == nil, errors.As(err, &block):
		case errors.As(err, &wait):
			soonest(wait.After)
		case apierrors.IsConflict(err):
			soonest(conflictPause)
		default:
			errs = append(errs, fmt.Errorf("%s: %w", step, err))
		}
	}
	for _, o := range r {
		judge(o.Step, o.Err)
	}
	judge("writing status", closeErr)
	if len(errs) > 0 {
		return ctrl.Result{}, errors.Join(errs...)
	}
	return res, nil
}

// conflictPause lets the watch deliver the object that won the race.
const conflictPause = 100 * time.Millisecond

// Waiting says that nothing is wrong and the world needs time.
type Waiting struct {
	Reason, Message string
	After           time.Duration
}

func (w *Waiting) Error() string { return w.Message }

// Blocked says that only a change of the object can help.
type Blocked struct{ Reason, Message string }

func (b *Blocked) Error() string { return b.Message }

// Wait returns a Waiting error. A wait whose end is announced by a watch may
// ask for after 0: it is not polled.
func Wait(after time.Duration, reason, format string, args ...any) error {
	return &Waiting{Reason: reason, Message: fmt.Sprintf(format, args...), After: after}
}

// Block returns a Blocked error.
func Block(reason, format string, args ...any) error {
	return &Blocked{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
