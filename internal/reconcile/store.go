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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A Store reads objects of one kind and writes their status. The controllers of a
// process that share a status share its Store: there is one field owner, and one
// write at a time.
//
//	Get ◄── the newer one of the cache and the latest write
//
//	Write ─► changes that wait ─► newest version ─► generation, deletion or the part differs ──► conflict: reconcile again
//	         all of one object       ▲                   │ else
//	                                 │                   ▼
//	                     read past the cache ◄─conflict─ one server-side apply of all parts, with that resourceVersion
//	                                                     │
//	                                                     ▼
//	                                       latest write ─► every Write returns
//
// A change waits while a write of the same object is in flight, and is then written
// together with all others that wait. A part that did not change in this process is
// repeated as the API server has it, so that no field is lost after a restart. On a
// conflict with another field of the object only the write is repeated. Repeating the
// whole reconcile would double its calls of AWS.
type Store[T client.Object] struct {
	client client.Client
	live   client.Reader
	owner  string
	clock  clock.PassiveClock

	derived *derivation[T]
	// finalizers are those that the controllers of the process add.
	finalizers []finalizer[T]

	mu      sync.Mutex
	parts   []*Part[T]
	objects map[client.ObjectKey]*entry[T]
	// recent are the objects that were written a moment ago.
	recent map[client.ObjectKey]*recentWrite[T]
}

// A Part is one controller's part of a status.
type Part[T client.Object] struct {
	store  *Store[T]
	fields func(T) any
	// These are the fields of that name of the controller.
	spacing         time.Duration
	canWait, prompt []string
}

// finalizer is a finalizer that a controller adds to the objects for which needed is true.
type finalizer[T client.Object] struct {
	name   string
	needed func(T) bool
}

// Finalizer declares that a controller of the process adds the finalizer to the objects for which needed is true, and removes
// it from objects that are being deleted. The first controller that adds its own adds all that are declared: most controllers
// add theirs in the moment in which the object is created. Finalizer is called before the first write.
func (s *Store[T]) Finalizer(name string, needed func(T) bool) {
	s.finalizers = append(s.finalizers, finalizer[T]{name, needed})
}

// addFinalizers adds name and, if it is missing, all that are declared for the object.
func (s *Store[T]) addFinalizers(obj client.Object, name string) (added bool) {
	if !controllerutil.AddFinalizer(obj, name) {
		return false
	}
	for _, f := range s.finalizers {
		if f.needed(obj.(T)) {
			controllerutil.AddFinalizer(obj, f.name)
		}
	}
	return true
}

// entry is a Store's knowledge of one object.
type entry[T client.Object] struct {
	// turn is full while a writer writes.
	turn chan struct{}
	// users is how many writers write or wait.
	users   int
	waiting []*change[T]
	// latest is the object as this process has written it at that time; nil if the
	// cache has it.
	latest *T
	at     time.Time
}

// change is one call of Write.
type change[T client.Object] struct {
	part *Part[T]
	// obj is a copy of the object with which the reconcile works.
	obj           T
	before, after []byte
	// left is true if the caller does not wait any more.
	left bool
	// done is closed when stored or err is set.
	done   chan struct{}
	stored T
	err    error
}

const (
	// attempts is how often a write is tried: another client may change the object
	// meanwhile, but not all the time.
	attempts = 5
	// gathering is how long the status of a finished reconcile waits for the statuses of other controllers of the same object, which often
	// react to the same event.
	gathering = 25 * time.Millisecond
	// retention is how long a written object is kept for the case that the cache does
	// not have it yet. A cache that lags by more causes a conflict now and then, which
	// costs less than the memory.
	retention = 10 * time.Second
)

// NewStore returns a Store that writes as that field owner. live reads past the cache.
func NewStore[T client.Object](c client.Client, live client.Reader, owner string) *Store[T] {
	return &Store[T]{client: c, live: live, owner: owner, clock: clock.RealClock{}, objects: map[client.ObjectKey]*entry[T]{}, recent: map[client.ObjectKey]*recentWrite[T]{}}
}

// Part adds a part. fields returns it as a value that marshals to a JSON object; a
// field that is left out is given up. No two parts share a field. Conditions may be in
// several parts, with different types. All parts are added before the first write.
func (s *Store[T]) Part(fields func(T) any) *Part[T] {
	p := &Part[T]{store: s, fields: fields}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, p)
	return p
}

// Get returns the object as the cache has it, or as it was written last if the cache
// does not have that yet.
func (s *Store[T]) Get(ctx context.Context, key client.ObjectKey) (T, error) {
	obj := newObject[T]()
	err := s.client.Get(ctx, key, obj)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[key]
	switch {
	case apierrors.IsNotFound(err) && e != nil:
		s.forget(key, e)
	case err == nil && e != nil && e.latest != nil:
		latest := *e.latest
		if latest.GetUID() == obj.GetUID() && compareVersions(latest, obj) > 0 {
			return latest.DeepCopyObject().(T), nil
		}
		s.forget(key, e)
	}
	return obj, err
}

// Get returns the object as Store.Get does.
func (p *Part[T]) Get(ctx context.Context, key client.ObjectKey) (T, error) {
	return p.store.Get(ctx, key)
}

// write writes a change and those that wait with it. It returns the object as stored.
func (s *Store[T]) write(ctx context.Context, c *change[T], gather time.Duration) (T, error) {
	e := s.enter(c)
	defer s.leave(c, e)
	s.enqueue(c, e)
	if gather > 0 && s.shared() {
		timer := time.NewTimer(gather)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.done:
			return c.stored, c.err
		case <-ctx.Done():
			return c.stored, ctx.Err()
		}
	}
	select {
	case e.turn <- struct{}{}:
	case <-c.done:
		return c.stored, c.err
	case <-ctx.Done():
		return c.stored, ctx.Err()
	}
	defer func() { <-e.turn }()
	if batch := s.take(e, c); len(batch) > 0 {
		defer s.putBack(e, batch)
		s.flush(ctx, e, c, batch, s.apply)
	}
	return c.stored, c.err
}

// writeAlone makes a write other than the status write.
func (s *Store[T]) writeAlone(ctx context.Context, c *change[T], write writeFunc[T]) (T, error) {
	e := s.enter(c)
	defer s.leave(c, e)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return c.stored, ctx.Err()
	}
	defer func() { <-e.turn }()
	s.flush(ctx, e, c, []*change[T]{c}, write)
	return c.stored, c.err
}

func (s *Store[T]) enter(c *change[T]) *entry[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(c.obj)
	e := s.objects[key]
	if e == nil {
		e = &entry[T]{turn: make(chan struct{}, 1)}
		s.objects[key] = e
	}
	e.users++
	return e
}

func (s *Store[T]) enqueue(c *change[T], e *entry[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.waiting = append(e.waiting, c)
}

// leave withdraws a change that has not been written.
func (s *Store[T]) leave(c *change[T], e *entry[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.left = true
	e.waiting = slices.DeleteFunc(e.waiting, func(w *change[T]) bool { return w == c })
	e.users--
	if e.users == 0 && e.latest == nil {
		delete(s.objects, client.ObjectKeyFromObject(c.obj))
	}
}

func (s *Store[T]) shared() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parts) > 1
}

// take returns all changes that wait, or none if c has been written with others.
func (s *Store[T]) take(e *entry[T], c *change[T]) []*change[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.finished() || len(e.waiting) == 0 {
		return nil
	}
	batch := e.waiting
	e.waiting = nil
	return s.withPostponed(batch)
}

// putBack lets the changes wait that were not written because the context of the
// writer ended, or it panicked: the other controllers write them.
func (s *Store[T]) putBack(e *entry[T], batch []*change[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range batch {
		if !c.finished() && !c.left {
			e.waiting = append(e.waiting, c)
		}
	}
}

func (c *change[T]) finished() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// finish ends the calls of Write.
func finish[T client.Object](batch []*change[T], stored T, err error) {
	for _, c := range batch {
		c.stored, c.err = stored, err
		close(c.done)
	}
}

// writeFunc writes the changes to the object as base has it, and returns the object as stored.
type writeFunc[T client.Object] func(ctx context.Context, base T, batch []*change[T]) (T, error)

// flush writes changes on the newest version of the object.
func (s *Store[T]) flush(ctx context.Context, e *entry[T], caller *change[T], batch []*change[T], write writeFunc[T]) {
	base, err := s.newest(ctx, e, batch)
	for attempt := 1; err == nil; attempt++ {
		if batch = s.refuse(batch, base); len(batch) == 0 {
			return
		}
		var stored T
		if stored, err = write(ctx, base, batch); err == nil {
			s.keep(e, stored)
			s.noteWrite(batch)
			finish(batch, stored, nil)
			return
		}
		if attempt == attempts || !apierrors.IsConflict(err) {
			break
		}
		base, err = read(ctx, s.live, base)
	}
	switch {
	case ctx.Err() != nil: // it is the context of the caller only
		if batch = nil; !caller.finished() {
			batch = []*change[T]{caller}
		}
	case len(batch) > 1 && apierrors.IsInvalid(err): // one of them is invalid, and only that one fails
		for _, c := range batch {
			s.flush(ctx, e, caller, []*change[T]{c}, write)
		}
		return
	}
	var none T
	finish(batch, none, err)
}

// newest returns the newest version of the object that this process has.
func (s *Store[T]) newest(ctx context.Context, e *entry[T], batch []*change[T]) (T, error) {
	base, err := read(ctx, s.client, batch[0].obj)
	if err != nil {
		return base, err
	}
	var candidates []T
	for _, c := range batch {
		candidates = append(candidates, c.obj)
	}
	s.mu.Lock()
	if e.latest != nil {
		candidates = append(candidates, *e.latest)
	}
	s.mu.Unlock()
	for _, obj := range candidates {
		if obj.GetUID() == base.GetUID() && compareVersions(obj, base) > 0 {
			base = obj
		}
	}
	return base, nil
}

// read returns the object as a reader has it. That it is gone is a conflict: the next
// reconcile finds that out.
func read[T client.Object](ctx context.Context, from client.Reader, obj T) (T, error) {
	now := newObject[T]()
	err := from.Get(ctx, client.ObjectKeyFromObject(obj), now)
	if apierrors.IsNotFound(err) {
		return now, conflict(obj)
	}
	if err != nil {
		return now, fmt.Errorf("reading what others have written: %w", err)
	}
	return now, nil
}

// refuse ends a change with a conflict if its reconcile began with another desired state,
// or with another state of their own part. It returns the others.
func (s *Store[T]) refuse(batch []*change[T], base T) []*change[T] {
	var accepted []*change[T]
	var none T
	for _, c := range batch {
		if err := c.check(base); err != nil {
			finish([]*change[T]{c}, none, err)
		} else {
			accepted = append(accepted, c)
		}
	}
	return accepted
}

func (c *change[T]) check(base T) error {
	if c.obj.GetUID() == base.GetUID() && c.obj.GetResourceVersion() == base.GetResourceVersion() {
		return nil
	}
	part, err := json.Marshal(c.part.fields(base))
	if err != nil {
		return fmt.Errorf("marshalling status: %w", err)
	}
	if base.GetUID() != c.obj.GetUID() || base.GetGeneration() != c.obj.GetGeneration() ||
		!base.GetDeletionTimestamp().Equal(c.obj.GetDeletionTimestamp()) || string(part) != string(c.before) {
		return conflict(c.obj)
	}
	return nil
}

func conflict(obj client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{}, obj.GetName(), errors.New("the object has changed since the reconcile began"))
}

// keep remembers the written object until the cache contains it, and forgets old writes.
func (s *Store[T]) keep(e *entry[T], stored T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	e.latest, e.at = &stored, now
	for key, other := range s.objects {
		if other.latest != nil && now.Sub(other.at) > retention {
			s.forget(key, other)
		}
	}
}

func (s *Store[T]) forget(key client.ObjectKey, e *entry[T]) {
	e.latest = nil
	if e.users == 0 {
		delete(s.objects, key)
	}
}
