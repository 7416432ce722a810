package ledger

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options describe the objects of a controller, their records and their resources. S is the scope of one reconcile.
type Options[S any] struct {
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	// Object returns the object of a scope. Finalizer keeps it until its resources are gone.
	Object    func(S) client.Object
	Finalizer string
	// Store returns the writer of the record and the entries.
	Store func(S) Store
	// Prepare fills the record with the inputs of a deletion; nil if Store does.
	Prepare func(S)
	// HasRecord is false for an object that has not recorded anything. It has no resources.
	HasRecord func(S) bool
	// UserTags are the tags of the user, and TagKeys is the field with all keys that the resources may have. Nil for
	// a controller that records the keys elsewhere.
	UserTags func(S) awsx.Tags
	TagKeys  func(S) *[]string

	// Open opens the sessions of the recorded roles.
	Open func(context.Context, S) error
	// Invalidate makes the next use of every list list from AWS; nil if a deletion always does.
	Invalidate func(S)
	// Last is true for the last object of the owner; nil for no sweep.
	Last func(context.Context, S) (bool, error)
	// Released clears other status fields about the resources when they are deleted; nil if there are none.
	Released func(S)
	// Awaiting contains the reason and the message of the wait for eventual consistency.
	Awaiting reconcile.Waiting

	// Resources are in the order of their creation.
	Resources []Resource[S]
}

// A Store stores the record of an object, usually in its status. A reconcile.Writer is one.
type Store interface {
	AddFinalizer(ctx context.Context, finalizer string) error
	RemoveFinalizer(ctx context.Context, finalizer string) error
	// Write stores the changed fields, if there are any.
	Write(ctx context.Context) error
}

// A Resource is a row of the table: a resource in AWS of which an object has one.
type Resource[S any] struct {
	// Name is the name of the steps that ensure and delete it.
	Name string
	// Entry returns the object's record of the resource. Nil for a resource that is found without an id and
	// without tags, such as a DNS record.
	Entry func(S) Entry
	// Ensure creates or repairs the resource. It may return both an observed resource and an error.
	Ensure func(context.Context, S, Claim) (Observed, error)
	// Ready returns nil, or the wait until the resource can be used. Ready is nil if the resource can be used as soon as it exists.
	Ready func(context.Context, S) error
	// Delete starts to delete the resource, and waits until it is gone. found is true, also with an error, if it
	// has found a resource that can be the result of a creation with an unknown outcome.
	Delete func(context.Context, S, Deletion) (found bool, err error)
	// Beside are independent steps, which run in a group with Ensure.
	Beside []reconcile.Step[S]
}

// An Entry is an object's record of one resource.
type Entry interface {
	ID() string
	SetID(id string)
	// Creating is true if there is an intent: a creation with an unknown outcome.
	Creating() bool
	SetCreating(creating bool)
}

// A Claim is the record's part of the desired state of a resource.
type Claim struct {
	// ID is the recorded id.
	ID string
	// TagKeys are the keys of tags that the resource may have and that are ours.
	TagKeys []string
	// Hooks record the intent, and report repairs.
	Hooks awsx.Hooks
}

// Observed is a resource as Ensure leaves it.
type Observed struct {
	ID string
	// Usable is false for a resource that is about to be deleted or replaced. It is the outcome of the last creation
	// only if its id is new.
	Usable bool
}

// A Deletion selects the resources to delete in one row of the table.
type Deletion struct {
	// ID is the recorded id, of a resource that AWS may not list yet.
	ID string
	// Sweep is set to delete the resources of all objects of the owner.
	Sweep bool
}

// A Ledger runs the protocol for the objects of one controller.
type Ledger[S any] struct {
	opts Options[S]

	mu      sync.Mutex
	objects *lru.Cache // progress by UID, of objects that wait or are being deleted
}

// New returns a Ledger.
func New[S any](opts Options[S]) *Ledger[S] {
	return &Ledger[S]{opts: opts, objects: lru.New(maxObjects)}
}

// Live returns the steps for a live object.
func (l *Ledger[S]) Live() []reconcile.Step[S] {
	steps := []reconcile.Step[S]{{Name: "record", Run: l.Record}, {Name: "roles", Run: l.opts.Open}}
	for _, r := range l.opts.Resources {
		step := reconcile.Step[S]{Name: r.Name, Run: func(ctx context.Context, s S) error { return l.Ensure(ctx, s, r) }}
		if len(r.Beside) > 0 {
			step = reconcile.Group(append([]reconcile.Step[S]{step}, r.Beside...)...)
		}
		steps = append(steps, step)
	}
	return steps
}

// Deleting returns the steps for an object that is being deleted.
func (l *Ledger[S]) Deleting() []reconcile.Step[S] {
	steps := []reconcile.Step[S]{{Name: "roles", Run: l.openRecorded}}
	for _, r := range slices.Backward(l.opts.Resources) {
		steps = append(steps, reconcile.Step[S]{Name: r.Name, Run: func(ctx context.Context, s S) error { return l.Delete(ctx, s, r) }})
	}
	steps = append(steps, reconcile.Step[S]{Name: "eventual consistency", Run: l.AwaitConsistency})
	if l.opts.Last != nil {
		steps = append(steps, reconcile.Step[S]{Name: "sweep", Run: l.sweep})
	}
	return append(steps, reconcile.Step[S]{Name: "finalizer", Run: l.Release})
}

// Record records the inputs of the deletion, before any resource is created.
func (l *Ledger[S]) Record(ctx context.Context, s S) error {
	store := l.opts.Store(s)
	if err := store.AddFinalizer(ctx, l.opts.Finalizer); err != nil {
		return err
	}
	if l.opts.Prepare != nil {
		l.opts.Prepare(s)
	}
	if l.opts.TagKeys != nil {
		keys := l.opts.TagKeys(s)
		*keys = slices.Compact(slices.Sorted(slices.Values(slices.Concat(*keys, l.opts.UserTags(s).Keys()))))
	}
	return store.Write(ctx)
}

// openRecorded opens the sessions of the recorded roles. Without a record there are none.
func (l *Ledger[S]) openRecorded(ctx context.Context, s S) error {
	if !l.opts.HasRecord(s) {
		return nil
	}
	return l.opts.Open(ctx, s)
}

// Ensure ensures a resource and records its id.
func (l *Ledger[S]) Ensure(ctx context.Context, s S, r Resource[S]) error {
	if r.Entry == nil {
		_, err := r.Ensure(ctx, s, Claim{})
		return err
	}
	entry := r.Entry(s)
	recorded := entry.ID()
	got, err := r.Ensure(ctx, s, l.claim(s, entry))
	if got.ID != "" {
		if got.ID != recorded || got.Usable {
			entry.SetCreating(false)
		}
		entry.SetID(got.ID)
	}
	if err != nil {
		return err
	}
	if l.opts.TagKeys != nil && l.isLastTagged(r) {
		*l.opts.TagKeys(s) = l.opts.UserTags(s).Keys()
	}
	if r.Ready == nil {
		return nil
	}
	return r.Ready(ctx, s)
}

// isLastTagged is true for the last resource that has tags. The steps before have
// removed stale tags from the others.
func (l *Ledger[S]) isLastTagged(r Resource[S]) bool {
	for _, last := range slices.Backward(l.opts.Resources) {
		if last.Entry != nil {
			return last.Name == r.Name
		}
	}
	return false
}

// claim returns the claim for a resource. Its hooks record the intent before the call
// that creates the resource.
func (l *Ledger[S]) claim(s S, entry Entry) Claim {
	c := Claim{ID: entry.ID(), Hooks: awsx.Hooks{
		BeforeCreate: func(ctx context.Context) error {
			if entry.Creating() {
				return nil
			}
			entry.SetCreating(true)
			return l.opts.Store(s).Write(ctx)
		},
		OnChange: func(id, what string) {
			l.opts.Recorder.Eventf(l.opts.Object(s), nil, corev1.EventTypeNormal, ResourceChanged, "Repair", "%s: %s", id, what)
		},
		OnSkip: func(id, what string) {
			l.opts.Recorder.Eventf(l.opts.Object(s), nil, corev1.EventTypeWarning, ChangeGivenUp, "GiveUp", "%s: %s", id, what)
		},
	}}
	if l.opts.TagKeys != nil {
		c.TagKeys = *l.opts.TagKeys(s)
	}
	return c
}

// Reasons of events about a repair of a resource, and about a repair that is not possible.
const (
	ResourceChanged = "AWSResourceChanged"
	ChangeGivenUp   = "AWSChangeGivenUp"
)

// Delete deletes a resource and waits until it is gone.
func (l *Ledger[S]) Delete(ctx context.Context, s S, r Resource[S]) error {
	return l.delete(ctx, s, r, Deletion{})
}

func (l *Ledger[S]) delete(ctx context.Context, s S, r Resource[S], d Deletion) error {
	if !l.opts.HasRecord(s) {
		return nil
	}
	var entry Entry
	if r.Entry != nil {
		entry = r.Entry(s)
		d.ID = entry.ID()
	}
	found, err := r.Delete(ctx, s, d)
	if found && entry != nil {
		entry.SetCreating(false)
		l.closeIntent(s, r)
	}
	return err
}

// AwaitConsistency waits until AWS would list a resource that was created just before the
// deletion, if the outcome of a creation is not known.
func (l *Ledger[S]) AwaitConsistency(_ context.Context, s S) error {
	if !l.opts.HasRecord(s) || !slices.ContainsFunc(l.opts.Resources, func(r Resource[S]) bool { return l.isOpen(s, r) }) {
		return nil
	}
	remaining := l.remaining(s)
	if remaining == 0 {
		return nil
	}
	if l.opts.Invalidate != nil {
		l.opts.Invalidate(s)
	}
	return reconcile.Wait(remaining, l.opts.Awaiting.Reason, "%s", l.opts.Awaiting.Message)
}

// sweep deletes, with the last object of the owner, the resources of objects that
// were deleted by force.
func (l *Ledger[S]) sweep(ctx context.Context, s S) error {
	if !l.opts.HasRecord(s) {
		return nil
	}
	last, err := l.opts.Last(ctx, s)
	if err != nil || !last {
		return err
	}
	for _, r := range slices.Backward(l.opts.Resources) {
		if r.Entry == nil {
			continue
		}
		if err := l.delete(ctx, s, r, Deletion{Sweep: true}); err != nil {
			return err
		}
	}
	return nil
}

// Release clears the entries and removes the finalizer.
func (l *Ledger[S]) Release(ctx context.Context, s S) error {
	if l.opts.HasRecord(s) {
		for _, r := range l.opts.Resources {
			if r.Entry != nil {
				entry := r.Entry(s)
				entry.SetID("")
				entry.SetCreating(false)
			}
		}
	}
	if l.opts.Released != nil {
		l.opts.Released(s)
	}
	if err := l.opts.Store(s).RemoveFinalizer(ctx, l.opts.Finalizer); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Removed the finalizer: nothing is left in AWS")
	l.forget(s)
	return nil
}

// WithoutEntry returns a resource that is found without an id and without tags, such
// as a DNS record.
func WithoutEntry[S any](name string, ensure, del func(context.Context, S) error) Resource[S] {
	return Resource[S]{
		Name:   name,
		Ensure: func(ctx context.Context, s S, _ Claim) (Observed, error) { return Observed{}, ensure(ctx, s) },
		Delete: func(ctx context.Context, s S, _ Deletion) (bool, error) { return false, del(ctx, s) },
	}
}
