package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

var errFailed = errors.New("failed")

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

// entry is in the status of an AWSEndpointService.
type entry struct {
	st *hyperv1.AWSEndpointServiceStatus
	of hyperv1.AWSEndpointResource
}

func (e entry) ID() string      { return *e.st.ResourceID(e.of) }
func (e entry) SetID(id string) { *e.st.ResourceID(e.of) = id }
func (e entry) Creating() bool  { return slices.Contains(e.st.Creating, e.of) }
func (e entry) SetCreating(creating bool) {
	e.st.Creating = slices.DeleteFunc(e.st.Creating, func(r hyperv1.AWSEndpointResource) bool { return r == e.of })
	if creating {
		e.st.Creating = append(e.st.Creating, e.of)
	}
}

// outcome contains the results of a resource's stub.
type outcome struct {
	got      ledger.Observed
	creates  bool // it calls BeforeCreate
	err      error
	notReady error
	found    bool
	remains  error
}

// unit is a ledger with two stubs of resources, and the log of their calls.
type unit struct {
	*ledger.Ledger[*hyperv1.AWSEndpointService]
	t       *testing.T
	es      *hyperv1.AWSEndpointService
	clock   *clocktesting.FakeClock
	client  client.WithWatch
	first   outcome
	second  outcome
	tags    awsx.Tags
	last    bool
	refused error // of the store
	log     []string
}

func newUnit(t *testing.T) *unit {
	u := &unit{
		t: t, clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0)), tags: awsx.Tags{"team": "blue"},
		es: &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "b", UID: "c", Finalizers: []string{hyperv1.ControlPlaneOperatorFinalizer, "keep"},
		}},
	}
	u.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(u.es).Build()
	if err := u.client.Get(t.Context(), client.ObjectKeyFromObject(u.es), u.es); err != nil {
		t.Fatal(err)
	}
	u.Ledger = u.restart()
	return u
}

// restart returns the ledger of a new process.
func (u *unit) restart() *ledger.Ledger[*hyperv1.AWSEndpointService] {
	type object = *hyperv1.AWSEndpointService
	return ledger.New(ledger.Options[object]{
		Recorder: events.NewFakeRecorder(10), Clock: u.clock,
		Object:     func(es object) client.Object { return es },
		Finalizer:  hyperv1.ControlPlaneOperatorFinalizer,
		Store:      func(object) ledger.Store { return u },
		Prepare:    func(es object) { es.Status.Cleanup = &hyperv1.AWSEndpointCleanup{} },
		HasRecord:  func(es object) bool { return es.Status.Cleanup != nil },
		UserTags:   func(object) awsx.Tags { return u.tags },
		TagKeys:    func(es object) *[]string { return &es.Status.TagKeys },
		Open:       func(context.Context, object) error { u.did("open"); return nil },
		Invalidate: func(object) { u.did("invalidate") },
		Last:       func(context.Context, object) (bool, error) { return u.last, nil },
		Awaiting:   reconcile.Waiting{Reason: "Deleting", Message: "100% sure"},
		Resources: []ledger.Resource[object]{
			u.resource("first", hyperv1.SecurityGroupResource, &u.first),
			u.resource("second", hyperv1.VPCEndpointResource, &u.second),
			ledger.WithoutEntry("name",
				func(context.Context, object) error { u.did("ensure name"); return nil },
				func(context.Context, object) error { u.did("delete name"); return nil }),
		},
	})
}

func (u *unit) resource(name string, of hyperv1.AWSEndpointResource, is *outcome) ledger.Resource[*hyperv1.AWSEndpointService] {
	return ledger.Resource[*hyperv1.AWSEndpointService]{
		Name:  name,
		Entry: func(es *hyperv1.AWSEndpointService) ledger.Entry { return entry{&es.Status, of} },
		Ensure: func(ctx context.Context, _ *hyperv1.AWSEndpointService, c ledger.Claim) (ledger.Observed, error) {
			if is.creates {
				if err := c.Hooks.Creating(ctx); err != nil {
					return ledger.Observed{}, err
				}
			}
			u.did("ensure " + name)
			return is.got, is.err
		},
		Ready: func(context.Context, *hyperv1.AWSEndpointService) error { return is.notReady },
		Delete: func(_ context.Context, _ *hyperv1.AWSEndpointService, d ledger.Deletion) (bool, error) {
			what := "delete " + name + " " + d.ID
			if d.Sweep {
				what = "sweep " + name
			}
			u.did(what)
			return is.found, is.remains
		},
	}
}

func (u *unit) did(what string) { u.log = append(u.log, what) }

func (u *unit) AddFinalizer(context.Context, string) error { u.did("finalizer"); return nil }

func (u *unit) RemoveFinalizer(ctx context.Context, finalizer string) error {
	return reconcile.RemoveFinalizer(ctx, u.client, u.es, finalizer)
}

func (u *unit) Write(context.Context) error {
	u.did("write")
	return u.refused
}

// run runs the steps and fails the test unless their log is want and their outcome is as given.
func (u *unit) run(steps []reconcile.Step[*hyperv1.AWSEndpointService], outcome string, want ...string) {
	u.t.Helper()
	u.log = nil
	got := "done"
	if err := reconcile.Run(u.t.Context(), u.es, steps...).Err(); err != nil {
		got = err.Error()
	}
	if got != outcome {
		u.t.Errorf("outcome %q, want %q", got, outcome)
	}
	if d := cmp.Diff(want, u.log); d != "" {
		u.t.Errorf("-want +got:\n%s", d)
	}
}

// wantEntries checks the record: ids, intents and keys of tags.
func (u *unit) wantEntries(first, second string, creating []hyperv1.AWSEndpointResource, keys ...string) {
	u.t.Helper()
	st := u.es.Status
	if st.SecurityGroupID != first || st.EndpointID != second {
		u.t.Errorf("ids %q and %q, want %q and %q", st.SecurityGroupID, st.EndpointID, first, second)
	}
	if !slices.Equal(st.Creating, creating) {
		u.t.Errorf("intents %v, want %v", st.Creating, creating)
	}
	if !slices.Equal(st.TagKeys, keys) {
		u.t.Errorf("tag keys %v, want %v", st.TagKeys, keys)
	}
}

func TestARecordPrecedesEveryResource(t *testing.T) {
	u := newUnit(t)
	u.first, u.second = outcome{got: ledger.Observed{ID: "1", Usable: true}}, outcome{got: ledger.Observed{ID: "2", Usable: true}}
	u.run(u.Live(), "done", "finalizer", "write", "open", "ensure first", "ensure second", "ensure name")
	u.wantEntries("1", "2", nil, "team")
	u.refused = errFailed
	u.run(u.Live(), "failed", "finalizer", "write")
}

func TestAnIntentIsWrittenBeforeACreation(t *testing.T) {
	const group = hyperv1.SecurityGroupResource
	u := newUnit(t)
	u.first = outcome{creates: true, err: errFailed}
	u.run(u.Live(), "failed", "finalizer", "write", "open", "write", "ensure first")
	u.wantEntries("", "", []hyperv1.AWSEndpointResource{group}, "team")
	// It is written once.
	u.run(u.Live(), "failed", "finalizer", "write", "open", "ensure first")
	// The id of a resource that fails after its creation is recorded.
	u.first.got = ledger.Observed{ID: "1", Usable: true}
	u.run(u.Live(), "failed", "finalizer", "write", "open", "ensure first")
	u.wantEntries("1", "", nil, "team")
}

func TestNothingIsCreatedIfTheIntentCannotBeWritten(t *testing.T) {
	u := newUnit(t)
	u.first = outcome{creates: true}
	record := u.Live()[:1]
	u.run(record, "done", "finalizer", "write")
	u.refused = errFailed
	u.run(u.Live()[1:], "failed", "open", "write")
}

func TestAnIntentStaysOpenWhileOnlyTheReplacedResourceIsSeen(t *testing.T) {
	const endpoint = hyperv1.VPCEndpointResource
	u := newUnit(t)
	u.es.Status.EndpointID, u.es.Status.Creating = "old", []hyperv1.AWSEndpointResource{endpoint}
	u.second = outcome{got: ledger.Observed{ID: "old"}}
	steps := []string{"finalizer", "write", "open", "ensure first", "ensure second", "ensure name"}
	u.run(u.Live(), "done", steps...)
	u.wantEntries("", "old", []hyperv1.AWSEndpointResource{endpoint}, "team")
	u.second.got.ID = "new"
	u.run(u.Live(), "done", steps...)
	u.wantEntries("", "new", []hyperv1.AWSEndpointResource{}, "team")
}

func TestStaleTagKeysAreForgottenWhenNoResourceHasThem(t *testing.T) {
	u := newUnit(t)
	u.run(u.Live(), "done", "finalizer", "write", "open", "ensure first", "ensure second", "ensure name")
	u.tags = awsx.Tags{"stage": "green"}
	u.second.err = errFailed
	u.run(u.Live(), "failed", "finalizer", "write", "open", "ensure first", "ensure second")
	u.wantEntries("", "", nil, "stage", "team")
	u.second = outcome{notReady: errFailed}
	u.run(u.Live(), "failed", "finalizer", "write", "open", "ensure first", "ensure second")
	u.wantEntries("", "", nil, "stage")
}

func TestDeletionWithoutARecordDoesNothing(t *testing.T) {
	u := newUnit(t)
	u.last = true
	u.run(u.Deleting(), "done")
	u.wantFinalizers("keep")
}

func (u *unit) wantFinalizers(want ...string) {
	u.t.Helper()
	now := &hyperv1.AWSEndpointService{}
	if err := u.client.Get(u.t.Context(), client.ObjectKeyFromObject(u.es), now); err != nil {
		u.t.Fatal(err)
	}
	if !slices.Equal(now.Finalizers, want) {
		u.t.Errorf("finalizers %v, want %v", now.Finalizers, want)
	}
}

func TestDeletionIsInReverseOrderAndWaitsForEachResource(t *testing.T) {
	u := newUnit(t)
	u.es.Status = hyperv1.AWSEndpointServiceStatus{Cleanup: &hyperv1.AWSEndpointCleanup{}, SecurityGroupID: "1", EndpointID: "2"}
	u.second.remains = errFailed
	u.run(u.Deleting(), "failed", "open", "delete name", "delete second 2")
	u.second.remains = nil
	u.run(u.Deleting(), "done", "open", "delete name", "delete second 2", "delete first 1")
	u.wantEntries("", "", nil)
	u.wantFinalizers("keep")
}

func TestTheLastObjectSweeps(t *testing.T) {
	u := newUnit(t)
	u.es.Status.Cleanup, u.last = &hyperv1.AWSEndpointCleanup{}, true
	u.run(u.Deleting(), "done", "open", "delete name", "delete second ", "delete first ", "sweep second", "sweep first")
}

func TestADeletionAwaitsConsistencyWhileAnIntentIsOpen(t *testing.T) {
	u := newUnit(t)
	u.es.Status.Cleanup = &hyperv1.AWSEndpointCleanup{}
	u.es.Status.Creating = []hyperv1.AWSEndpointResource{hyperv1.VPCEndpointResource}
	deletes := []string{"open", "delete name", "delete second ", "delete first "}
	waits := append(slices.Clone(deletes), "invalidate")
	u.run(u.Deleting(), "100% sure", waits...)
	u.clock.Step(awsx.ConsistencyWindow - time.Second)
	u.run(u.Deleting(), "100% sure", waits...)
	u.Ledger = u.restart() // the window begins again
	u.run(u.Deleting(), "100% sure", waits...)
	u.wantFinalizers(hyperv1.ControlPlaneOperatorFinalizer, "keep")
	u.clock.Step(awsx.ConsistencyWindow)
	u.run(u.Deleting(), "done", deletes...)
	u.wantEntries("", "", []hyperv1.AWSEndpointResource{})
}

// The resource is found and deleted, and the write of the status fails: the object
// keeps the intent, and the next reconcile finds no resource.
func TestWhatADeletionHasFoundIsNotAwaited(t *testing.T) {
	u := newUnit(t)
	u.es.Status.Cleanup = &hyperv1.AWSEndpointCleanup{}
	u.es.Status.Creating = []hyperv1.AWSEndpointResource{hyperv1.VPCEndpointResource}
	stored := u.es.DeepCopy()
	u.second = outcome{found: true, remains: errFailed}
	u.run(u.Deleting(), "failed", "open", "delete name", "delete second ")
	u.wantEntries("", "", []hyperv1.AWSEndpointResource{})
	u.es, u.second = stored, outcome{}
	u.run(u.Deleting(), "done", "open", "delete name", "delete second ", "delete first ")
}

// A conflict keeps the finalizer for one more reconcile, which does not wait again.
func TestAWindowEndsWithTheFinalizer(t *testing.T) {
	u := newUnit(t)
	u.es.Status.Cleanup = &hyperv1.AWSEndpointCleanup{}
	u.es.Status.Creating = []hyperv1.AWSEndpointResource{hyperv1.VPCEndpointResource}
	failing := true
	u.client = interceptor.NewClient(u.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if failing {
				return errFailed
			}
			return c.Patch(ctx, obj, p, opts...)
		},
	})
	stored := u.es.DeepCopy()
	steps := []string{"open", "delete name", "delete second ", "delete first "}
	u.run(u.Deleting(), "100% sure", append(slices.Clone(steps), "invalidate")...)
	u.clock.Step(awsx.ConsistencyWindow)
	u.run(u.Deleting(), "removing finalizer "+hyperv1.ControlPlaneOperatorFinalizer+": failed", steps...)
	failing, u.es = false, stored
	u.run(u.Deleting(), "done", steps...)
	u.wantFinalizers("keep")
}

func TestBackoff(t *testing.T) {
	doubling := ledger.Backoff{First: time.Second, Limit: 5 * time.Second}
	quarter := ledger.Backoff{First: 2 * time.Second, Limit: time.Minute, Share: 0.25}
	u := newUnit(t)
	if age := u.ListAge(u.es); age != 0 {
		t.Errorf("an object that does not wait has an age of %s", age)
	}
	want := func(b ledger.Backoff, want ...time.Duration) {
		t.Helper()
		for _, d := range want {
			if got := u.Delay(u.es, b); got != d || u.ListAge(u.es) != d/2 {
				t.Errorf("delay %s and age %s, want %s and half of it", got, u.ListAge(u.es), d)
			}
			u.clock.Step(20 * time.Second)
		}
	}
	want(doubling, time.Second, 2*time.Second, 4*time.Second, 5*time.Second, 5*time.Second)
	want(quarter, 2*time.Second, 5*time.Second, 10*time.Second)
	want(doubling, time.Second)
	u.StopWaiting(u.es)
	want(doubling, time.Second, 2*time.Second)
	want(quarter, 2*time.Second)
	u.clock.Step(time.Hour)
	want(quarter, time.Minute)
}
