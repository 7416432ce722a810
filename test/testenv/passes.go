package testenv

import (
	"context"
	"errors"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// A Pass reconciles every object that a controller watches once.
type Pass = func(context.Context) error

const (
	// maxPasses is the number of passes within which Settle must end.
	maxPasses = 200
	// reportedWrites is the number of writes that a failed Settle reports.
	reportedWrites = 10
)

// PassOver returns a pass over all objects of a list type.
func PassOver[T client.Object](e *Env, list client.ObjectList, reconcile func(context.Context, T) (ctrl.Result, error)) Pass {
	return func(ctx context.Context) error {
		objs, err := e.objects(ctx, list)
		if err != nil {
			return err
		}
		var errs []error
		for _, obj := range objs {
			errs = append(errs, e.RecordResult(reconcile(ctx, obj.(T))))
		}
		return errors.Join(errs...)
	}
}

// PassOverKeys returns a pass over the keys of all objects of a list type.
func (e *Env) PassOverKeys(list client.ObjectList, reconcile func(context.Context, ctrl.Request) (ctrl.Result, error)) Pass {
	return PassOver(e, list, func(ctx context.Context, obj client.Object) (ctrl.Result, error) {
		return reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
	})
}

// RecordResult records the result of a reconcile, for RequeueAfter and for crashtest.APIFaults.
func (e *Env) RecordResult(result ctrl.Result, err error) error {
	e.RequeueAfter = result.RequeueAfter
	return e.Cluster.RecordResult(result, err)
}

// Restart replaces the controller by a new process.
func (e *Env) Restart() { e.pass = e.Start() }

// RunPasses runs n passes, each when it was requeued, with the garbage collection after it. They may fail.
func (e *Env) RunPasses(n int) {
	e.T.Helper()
	for range n {
		e.Clock.Step(e.RequeueAfter)
		_ = e.Try()
		e.Must(e.CollectGarbage(e.T.Context()))
	}
}

// Try runs one pass and returns its error.
func (e *Env) Try() error {
	if e.pass == nil {
		e.Restart()
	}
	return e.pass(e.T.Context())
}

// Attempt runs one pass and returns the number of the controller's writes, and the pass's error.
func (e *Env) Attempt() (writes int, err error) {
	before := e.Calls.Writes()
	err = e.Try()
	return e.Calls.Writes() - before, err
}

// Once runs one pass, which must succeed, and returns the number of the controller's writes.
func (e *Env) Once() (writes int) {
	e.T.Helper()
	writes, err := e.Attempt()
	e.Must(err)
	return writes
}

// Later advances the clock by the requeue time and runs one pass.
func (e *Env) Later() (writes int) {
	e.T.Helper()
	e.Clock.Step(e.RequeueAfter)
	return e.Once()
}

// During runs a pass at each requeue time of the next period, and one at its end.
func (e *Env) During(period time.Duration) {
	e.T.Helper()
	for period >= 0 {
		e.Once()
		step := period + 1
		if e.RequeueAfter > 0 && e.RequeueAfter < step {
			step = e.RequeueAfter
		}
		e.Clock.Step(step)
		period -= step
	}
}

// Run runs passes, which must succeed, and the other controllers after each of them.
func (e *Env) Run(passes int) {
	e.T.Helper()
	for range passes {
		e.Once()
		e.RunOthers()
	}
}

// RunFailing is like Run, but passes may fail.
func (e *Env) RunFailing(passes int) {
	e.T.Helper()
	for range passes {
		_ = e.Try()
		e.RunOthers()
	}
}

// RunOthers runs the other controllers, the namespace controller and the garbage collector once, and advances the clock.
func (e *Env) RunOthers() {
	e.T.Helper()
	if e.Others != nil {
		e.Must(e.Others(e.T.Context()))
	}
	e.Must(e.CollectGarbage(e.T.Context()))
	e.Clock.Step(e.Tick)
}

// Settle runs passes, which must succeed, and the other controllers until nothing is written any more.
func (e *Env) Settle() {
	e.T.Helper()
	e.settle(e.Must, func() {})
}

// SettleFailing is like Settle, but passes may fail.
func (e *Env) SettleFailing() {
	e.T.Helper()
	e.settle(func(error) {}, func() {})
}

// SettleWith is like Settle, and calls check after each change.
func (e *Env) SettleWith(check func()) {
	e.T.Helper()
	e.settle(e.Must, check)
}

func (e *Env) settle(must func(error), check func()) {
	e.T.Helper()
	var err error
	for range maxPasses {
		before := e.Calls.Writes() + e.OtherCalls.Writes()
		err = e.Try()
		must(err)
		check()
		e.RunOthers()
		if e.Calls.Writes()+e.OtherCalls.Writes() == before {
			return
		}
		check()
	}
	e.T.Fatalf("the controllers still write after %d passes: last error %v, last writes:\n%s\nof others:\n%s",
		maxPasses, err, lastWrites(e.Calls), lastWrites(e.OtherCalls))
}

func lastWrites(calls *crashtest.CallCounter) string {
	return strings.Join(calls.Log(max(0, calls.Writes()-reportedWrites)), "\n")
}

// ExpectRequeue fails the test unless the last reconcile requested this requeue time.
func (e *Env) ExpectRequeue(after time.Duration) {
	e.T.Helper()
	if e.RequeueAfter != after {
		e.T.Errorf("requeued after %s, want %s", e.RequeueAfter, after)
	}
}

// Use makes pass the controller until the next Restart.
func (e *Env) Use(pass Pass) { e.pass = pass }
