package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
)

// A Step does one thing with the scope S.
type Step[S any] struct {
	// Name is a noun phrase. Users read it in conditions: "waiting for <name>".
	Name string
	// Condition is the condition that this step alone determines; empty for none.
	Condition string
	Run       func(context.Context, S) error
	group     []Step[S]
}

// Group returns steps that do not depend on each other: all of them run, whatever
// the others return. The steps after the group wait for all of them.
func Group[S any](steps ...Step[S]) Step[S] { return Step[S]{group: steps} }

// An Outcome is the result of one step.
type Outcome struct {
	Step, Condition string
	// Err is nil for a step that is done, or that did not run.
	Err error
	// Unverified is set if the condition is Unknown whatever Err is.
	Unverified *UnverifiedError
	// Stopper is the outcome that kept this step from running.
	Stopper *Outcome
}

// A Report lists the outcomes of all steps, in order.
type Report []Outcome

// Run runs the steps until one of them is not done. The report names the others, too.
func Run[S any](ctx context.Context, s S, steps ...Step[S]) Report {
	var report Report
	var stopper *Outcome
	for _, step := range steps {
		group := step.group
		if group == nil {
			group = []Step[S]{step}
		}
		before := stopper
		for _, member := range group {
			out := Outcome{Step: member.Name, Condition: member.Condition, Stopper: before}
			if before == nil {
				out.Err = member.protected(ctx, s)
				if errors.As(out.Err, &out.Unverified) {
					out.Err = out.Unverified.Outcome
				}
			}
			if out.Err != nil && stopper == nil {
				stopper = &out
			}
			report = append(report, out)
		}
	}
	return report
}

// A PanicError is the outcome of a step that panicked.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// protected runs the step. A panic is an error of this step: the rest of its group
// runs, and the status reports it.
func (st Step[S]) protected(ctx context.Context, s S) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value}
			ctrl.LoggerFrom(ctx).Error(err, "A step has panicked", "step", st.Name, "stack", string(debug.Stack()))
		}
	}()
	return st.Run(ctx, s)
}

// Done is true if all steps are done.
func (r Report) Done() bool {
	for _, o := range r {
		if o.Err != nil || o.Stopper != nil {
			return false
		}
	}
	return true
}

// Err returns the first outcome that is not done.
func (r Report) Err() error {
	for _, o := range r {
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}

// Unverified is true if a step has marked the condition as Unknown.
func (r Report) Unverified(condition string) bool {
	for _, o := range r {
		if o.Unverified != nil && o.unverifiedCondition() == condition {
			return true
		}
	}
	return false
}

func (o Outcome) unverifiedCondition() string {
	if o.Unverified.Condition != "" {
		return o.Unverified.Condition
	}
	return o.Condition
}

// conflictDelay gives the watch time to deliver the object that another writer has changed.
const conflictDelay = 100 * time.Millisecond

// result returns the result for controller-runtime: an error leads to a retry with back-off;
// of several waits the shortest counts. A conflict, in a step or in writing the
// status, is no failure: the newer object is reconciled.
func (r Report) result(statusErr error) (ctrl.Result, error) {
	var res ctrl.Result
	var errs []error
	for _, o := range append(r[:len(r):len(r)], Outcome{Step: "writing status", Err: statusErr}) {
		var wait *Waiting
		var block *Blocked
		switch {
		case o.Err == nil, errors.As(o.Err, &block):
		case errors.As(o.Err, &wait):
			res.RequeueAfter = sooner(res.RequeueAfter, wait.After)
		case apierrors.IsConflict(o.Err):
			res.RequeueAfter = sooner(res.RequeueAfter, conflictDelay)
		default:
			errs = append(errs, fmt.Errorf("%s: %w", o.Step, o.Err))
		}
	}
	if len(errs) > 0 {
		return ctrl.Result{}, errors.Join(errs...)
	}
	return res, nil
}

// sooner returns the shorter of two times; 0 is no time.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
