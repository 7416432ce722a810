package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Controller reconciles objects of type T in steps that share the scope S: the facts of one reconcile. It is not copied.
type Controller[T client.Object, S any] struct {
	// Name is the name in logs and metrics.
	Name   string
	Client client.Client
	// Reader reads past the cache. It is needed to write a status.
	Reader client.Reader
	Clock  clock.PassiveClock

	// Get reads the object; nil for a read from the cache.
	Get func(context.Context, client.ObjectKey) (T, error)
	// Gone is called if the object does not exist; nil for no call. Its result means the same as the outcome of a step.
	Gone func(context.Context, client.ObjectKey) error
	// Scope gathers the facts that all steps need, or returns Skip. The writer is
	// for steps that have to write before they act: finalizers and records.
	Scope func(context.Context, T, *Writer[T]) (S, error)
	// Phase returns the steps for the phase that the object is in: live, paused or
	// deleting. Without steps there is only the status to report.
	Phase func(S) []Step[S]

	// FieldOwner is the field owner of the status, for a controller that is the only
	// one of its process to write it. Store is for controllers that share a status.
	// Without both, the controller writes no status.
	FieldOwner string
	Store      *Store[T]
	// Spacing is the shortest time between two writes of the status of one object, for changes that can
	// wait: conditions, and the fields in CanWait. A change of another field is written at once, as are
	// changes of an object that is being deleted, and the result of a reconcile that fails. At the end of
	// that time the object is reconciled again, so that Spacing is for controllers with reconciles that
	// cost little. 0 if no change waits.
	Spacing time.Duration
	// CanWait lists the JSON names of fields that no program needs at once. Each reconcile sets them again: a change that waits is dropped when
	// the next reconcile begins.
	CanWait []string
	// Prompt lists the conditions for which others wait: a condition that becomes True, or is True no more, is written at once, as are the
	// conditions that the Store derives.
	Prompt []string
	// Conditions are the conditions of that part, and Fields returns its other
	// fields. Conditions are nil if Fields returns them, too; Fields is nil if there
	// are no other fields.
	Conditions []string
	Fields     func(T) any
	// Summary returns the condition that all steps determine together: the first
	// outcome that is not done. Nil or empty if each step has its own condition.
	Summary func(S) string
	// Status completes the status when the conditions of the steps have been set. It reads and writes only the scope and its object. Nil
	// without additions.
	Status func(S, Report, *Conditions)
	// Classify turns errors of steps into conditions.
	Classify Classifier
	// Written is called when the status is stored: for events. Nil for no call.
	Written func(S)
	// Save stores the status of an object that is not in the API server; nil for the Writer.
	Save func(context.Context, S) error

	// Resync returns how long an object rests that no step waits for. The engine adds
	// jitter. Nil or 0 if only a change leads to another reconcile.
	Resync func(S) time.Duration
	// NoLaterThan returns when the object has to be reconciled again whatever it
	// waits for, such as the end of a pause; nil or 0 for no limit.
	NoLaterThan func(S) time.Duration
	// Timeout is how long the steps may take; 0 for DefaultTimeout. The status is
	// written even if they take all of it.
	Timeout time.Duration
	// MaxBackoff is the longest time between two attempts that fail; 0 for a minute.
	MaxBackoff time.Duration
	// Workers is how many objects are reconciled at once; 0 for one.
	Workers int

	once sync.Once
	own  *Part[T]
}

const (
	// DefaultTimeout is longer than any call of AWS with its retries, and short
	// enough that a call that hangs does not occupy a worker for good.
	DefaultTimeout = 5 * time.Minute
	// writeTimeout is how long a controller may take besides its steps.
	writeTimeout = time.Minute

	minBackoff        = time.Second
	defaultMaxBackoff = time.Minute

	// jitter is the share by which periods are extended at random, so that operators
	// that were started together do not call AWS together. It only adds: budgets of
	// calls hold in the worst case, too.
	jitter = 0.2
)

// Jitter extends a period at random.
func Jitter(period time.Duration) time.Duration { return wait.Jitter(period, jitter) }

// conditioned is implemented by the kinds that have conditions.
type conditioned interface {
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
	GetGeneration() int64
}

// Builder returns a builder with the name and the options of the controller. The caller adds its kind
// and its watches. An incomplete controller is an error in the program: Builder panics.
func (c *Controller[T, S]) Builder(mgr ctrl.Manager) *builder.Builder {
	utilruntime.Must(c.validate())
	c.part() // before any controller writes
	c.spaceWrites()
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name).WithOptions(c.options())
}

// validate finds errors that would otherwise show late: as a status that is never
// stored, or as a nil pointer at the first conflict.
func (c *Controller[T, S]) validate() error {
	_, hasConditions := any(newObject[T]()).(conditioned)
	reports := c.Conditions != nil || c.Fields != nil || c.Summary != nil || c.Status != nil
	switch {
	case c.Name == "" || c.Client == nil || c.Scope == nil || c.Phase == nil:
		return fmt.Errorf("controller %q needs a name, a client, a scope and phases", c.Name)
	case c.FieldOwner != "" && c.Store != nil:
		return fmt.Errorf("controller %s has both a field owner and a store", c.Name)
	case c.FieldOwner != "" && c.Reader == nil:
		return fmt.Errorf("controller %s has no reader to write its status with", c.Name)
	case c.writesStatus() && c.Clock == nil:
		return fmt.Errorf("controller %s has no clock for its conditions", c.Name)
	case reports && !c.writesStatus() && c.Save == nil:
		return fmt.Errorf("controller %s has a status that is not stored", c.Name)
	case c.Spacing > 0 && !c.writesStatus():
		return fmt.Errorf("controller %s spaces writes of a status that it does not write", c.Name)
	case slices.ContainsFunc(c.CanWait, func(name string) bool { return !hasStatusField[T](name) }):
		return fmt.Errorf("controller %s: the status of %T does not have all fields of CanWait: %q", c.Name, newObject[T](), c.CanWait)
	case c.Conditions != nil && !hasConditions:
		return fmt.Errorf("controller %s has conditions, and %T has none", c.Name, newObject[T]())
	}
	return nil
}

func (c *Controller[T, S]) options() controller.Options {
	longest := c.MaxBackoff
	if longest == 0 {
		longest = defaultMaxBackoff
	}
	return controller.Options{
		MaxConcurrentReconciles: c.Workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](minBackoff, longest),
		ReconciliationTimeout:   c.timeout() + writeTimeout,
	}
}

func (c *Controller[T, S]) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// Itself is the Scope of a controller with steps that need only the object.
func Itself[T client.Object](_ context.Context, obj T, _ *Writer[T]) (T, error) { return obj, nil }

// Reconcile reads an object and reconciles it.
func (c *Controller[T, S]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj, err := c.read(ctx, req.NamespacedName)
	switch {
	case apierrors.IsNotFound(err) && c.Gone != nil:
		return Report{{Step: "deleted object", Err: c.Gone(ctx, req.NamespacedName)}}.result(nil)
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return c.ReconcileObject(ctx, obj)
}

func (c *Controller[T, S]) read(ctx context.Context, key client.ObjectKey) (T, error) {
	if c.Get != nil {
		return c.Get(ctx, key)
	}
	return c.part().Get(ctx, key)
}

// part returns the part of the status that this controller writes.
func (c *Controller[T, S]) part() *Part[T] {
	c.once.Do(func() {
		store := c.Store
		if store == nil {
			store = NewStore[T](c.Client, c.Reader, c.FieldOwner)
		}
		c.own = store.Part(c.fields)
	})
	return c.own
}

// spaceWrites begins to space writes. Without a manager no caller reconciles an object again after the time that Reconcile returns.
func (c *Controller[T, S]) spaceWrites() {
	c.own.spacing, c.own.canWait, c.own.prompt = c.Spacing, c.CanWait, c.Prompt
}

func (c *Controller[T, S]) writesStatus() bool { return c.FieldOwner != "" || c.Store != nil }

// ReconcileObject reconciles an object as it was read.
func (c *Controller[T, S]) ReconcileObject(ctx context.Context, obj T) (ctrl.Result, error) {
	writer := c.part().Writer(obj)
	c.part().store.withdraw(c.part(), obj)
	s, err := c.Scope(ctx, obj, writer)
	var skip *skipped
	switch {
	case errors.As(err, &skip):
		return ctrl.Result{RequeueAfter: skip.after}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	report := c.run(ctx, s)
	c.report(s, obj, report)
	_, failed := report.result(nil)
	requeueAfter, stored := c.save(ctx, s, writer, failed != nil)
	if stored == nil && requeueAfter == 0 && c.Written != nil {
		c.Written(s)
	}
	res, err := report.result(stored)
	if err != nil {
		return res, err
	}
	res.RequeueAfter = sooner(res.RequeueAfter, requeueAfter)
	return c.requeue(s, res), nil
}

func (c *Controller[T, S]) run(ctx context.Context, s S) Report {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	return Run(ctx, s, c.Phase(s)...)
}

// report sets the conditions of obj, and the other status fields.
func (c *Controller[T, S]) report(s S, obj T, report Report) {
	holder, ok := any(obj).(conditioned)
	if !c.writesStatus() && c.Save == nil || !ok {
		return
	}
	conditions := NewConditions(holder.GetConditions(), holder.GetGeneration(), c.Clock.Now())
	conditions.Report(report, c.Classify)
	if c.Summary != nil {
		if condition := c.Summary(s); condition != "" {
			conditions.Summarize(condition, report, c.Classify)
		}
	}
	if c.Status != nil {
		c.Status(s, report, conditions)
	}
	holder.SetConditions(conditions.List())
}

// save stores the status. If that waits, it returns when to reconcile again.
func (c *Controller[T, S]) save(ctx context.Context, s S, writer *Writer[T], urgent bool) (requeueAfter time.Duration, err error) {
	switch {
	case c.Save != nil:
		return 0, c.Save(ctx, s)
	case c.writesStatus():
		return writer.writeAtEnd(ctx, urgent)
	}
	return 0, nil
}

// requeue returns when to reconcile again.
func (c *Controller[T, S]) requeue(s S, res ctrl.Result) ctrl.Result {
	if res.RequeueAfter == 0 && c.Resync != nil {
		res.RequeueAfter = Jitter(c.Resync(s))
	}
	if c.NoLaterThan != nil {
		res.RequeueAfter = sooner(res.RequeueAfter, c.NoLaterThan(s))
	}
	return res
}

// fields returns the status fields that this controller writes.
func (c *Controller[T, S]) fields(obj T) any {
	if c.Conditions == nil && c.Fields != nil {
		return c.Fields(obj)
	}
	part := map[string]any{}
	if c.Fields != nil {
		text, err := json.Marshal(c.Fields(obj))
		if err == nil {
			err = json.Unmarshal(text, &part)
		}
		if err != nil {
			return unmarshallable{err}
		}
	}
	delete(part, "conditions")
	var owned []metav1.Condition
	if holder, ok := any(obj).(conditioned); ok {
		for _, t := range c.Conditions {
			if condition := meta.FindStatusCondition(holder.GetConditions(), t); condition != nil {
				owned = append(owned, *condition)
			}
		}
	}
	if owned != nil {
		part["conditions"] = owned
	}
	return part
}

// unmarshallable has Write return the error.
type unmarshallable struct{ err error }

func (u unmarshallable) MarshalJSON() ([]byte, error) { return nil, u.err }

// A Reconciler is called by controller-runtime.
type (
	Reconciler     = reconcile.Reconciler
	ReconcilerFunc = reconcile.Func
)

// Sequence returns a reconciler that runs several for the same key, one after the
// other. The next one runs only if the one before has not failed.
func Sequence(reconcilers ...Reconciler) Reconciler {
	return ReconcilerFunc(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		var all ctrl.Result
		for _, r := range reconcilers {
			res, err := r.Reconcile(ctx, req)
			if err != nil {
				return res, err
			}
			all.RequeueAfter = sooner(all.RequeueAfter, res.RequeueAfter)
		}
		return all, nil
	})
}
