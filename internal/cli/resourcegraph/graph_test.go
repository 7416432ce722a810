package resourcegraph_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

var (
	errDied      = errors.New("the process died")
	errThrottled = errors.New("throttled")
	errLost      = errors.New("no answer")
	errNotSeen   = errors.New("not seen yet")
	errInUse     = errors.New("in use")
	errDenied    = errors.New("denied")
	errGone      = errors.New("does not exist")
	errBusy      = errors.New("incorrect state")
)

func classify(err error) resourcegraph.Class {
	switch {
	case errors.Is(err, errThrottled):
		return resourcegraph.Throttled
	case errors.Is(err, errLost):
		return resourcegraph.Unknown
	case errors.Is(err, errNotSeen), errors.Is(err, errGone):
		return resourcegraph.NotFound
	case errors.Is(err, errBusy):
		return resourcegraph.Inconsistent
	case errors.Is(err, errInUse):
		return resourcegraph.InUse
	}
	return resourcegraph.Fatal
}

type resource struct {
	id, node, token, size string
	uses                  []string
	born                  time.Time
}

// fakeCloud is a cloud, and the disk of the process that uses it.
type fakeCloud struct {
	mu        sync.Mutex
	resources map[string]resource
	next      int
	disk      []byte
	log       []string

	latency time.Duration // of each call
	lag     time.Duration // until a new resource is found
	slow    time.Duration // until a resource is ready
	fail    func(action string) error
	lose    func(action string) bool
	running int
	most    int
	writes  int
	moment  int
	dieAt   int // moment of the death of the process; 0: it lives
	dead    bool
}

func newFakeCloud() *fakeCloud { return &fakeCloud{resources: map[string]resource{}} }

// alive counts a moment. From dieAt on the process is dead: its actions have no effect.
func (cloud *fakeCloud) alive() bool {
	cloud.mu.Lock()
	defer cloud.mu.Unlock()
	cloud.moment++
	if cloud.dieAt > 0 && cloud.moment >= cloud.dieAt {
		cloud.dead = true
	}
	return !cloud.dead
}

func (cloud *fakeCloud) save(text []byte) error {
	if !cloud.alive() {
		return errDied
	}
	cloud.mu.Lock()
	cloud.disk = bytes.Clone(text)
	cloud.mu.Unlock()
	if !cloud.alive() {
		return errDied
	}
	return nil
}

func (cloud *fakeCloud) call(action string, effect func() error) error {
	if !cloud.alive() {
		return errDied
	}
	cloud.mu.Lock()
	cloud.running++
	cloud.most = max(cloud.most, cloud.running)
	cloud.mu.Unlock()
	defer func() {
		cloud.mu.Lock()
		cloud.running--
		cloud.mu.Unlock()
	}()
	time.Sleep(cloud.latency)
	if cloud.fail != nil {
		if err := cloud.fail(action); err != nil {
			return err
		}
	}
	cloud.mu.Lock()
	err := effect()
	cloud.log = append(cloud.log, action)
	if !strings.HasPrefix(action, "read") {
		cloud.writes++
	}
	cloud.mu.Unlock()
	if !cloud.alive() {
		return errDied
	}
	if err == nil && cloud.lose != nil && cloud.lose(action) {
		return errLost
	}
	return err
}

// node returns the node of a resource. Its dependencies must exist when it is created, and may not be deleted while it exists.
func (cloud *fakeCloud) node(id string, repeatable bool, uses ...string) *resourcegraph.Node {
	visible := func(r resource) bool { return time.Since(r.born) >= cloud.lag }
	return &resourcegraph.Node{
		ID: id, Kind: "Thing", Name: id, DependsOn: uses, Repeatable: repeatable, SlowDeletion: true,
		Desired: func(ids resourcegraph.IDs) resourcegraph.Attributes {
			return resourcegraph.Attributes{"size": "large", "colour": "any"}
		},
		Immutable: []string{"colour"},
		Read: func(_ context.Context, l resourcegraph.Lookup) (found resourcegraph.Observed, err error) {
			err = cloud.call("read "+id, func() error {
				for _, key := range slices.Sorted(maps.Keys(cloud.resources)) {
					if r := cloud.resources[key]; r.node == id && visible(r) && (!found.Exists() || l.ID == r.id) {
						found = cloud.observed(r)
					}
				}
				return nil
			})
			return found, err
		},
		Create: func(_ context.Context, c resourcegraph.Creation) (made resourcegraph.Observed, err error) {
			var used []string
			for _, u := range uses {
				used = append(used, c.IDs(u))
			}
			err = cloud.call("create "+id, func() error {
				for _, u := range used {
					if r, ok := cloud.resources[u]; !ok || !visible(r) {
						return errNotSeen
					}
				}
				for _, r := range cloud.resources {
					if repeatable && r.node == id && r.token == c.Token {
						made = cloud.observed(r)
						return nil
					}
				}
				cloud.next++
				r := resource{id: fmt.Sprintf("%s-%04d", id, cloud.next), node: id, token: c.Token, size: c.Desired["size"], uses: used, born: time.Now()}
				cloud.resources[r.id] = r
				made = cloud.observed(r)
				return nil
			})
			return made, err
		},
		Update: func(_ context.Context, u resourcegraph.Update) error {
			return cloud.call("update "+id, func() error {
				r := cloud.resources[u.Observed.ID]
				r.size = u.Desired["size"]
				cloud.resources[r.id] = r
				return nil
			})
		},
		Delete: func(_ context.Context, o resourcegraph.Observed) error {
			return cloud.call("delete "+id, func() error {
				for _, r := range cloud.resources {
					if slices.Contains(r.uses, o.ID) {
						return errInUse
					}
				}
				if _, ok := cloud.resources[o.ID]; !ok {
					return errGone
				}
				delete(cloud.resources, o.ID)
				return nil
			})
		},
	}
}

func (cloud *fakeCloud) observed(r resource) resourcegraph.Observed {
	o := resourcegraph.Observed{ID: r.id, Attributes: resourcegraph.Attributes{"size": r.size, "colour": "any", "other": "x"}}
	if time.Since(r.born) < cloud.slow {
		o.Pending = "state pending"
	}
	return o
}

// network is a graph like a VPC's: two branches that join.
func (cloud *fakeCloud) network() []*resourcegraph.Node {
	return []*resourcegraph.Node{
		cloud.node("join", true, "leaf-a", "leaf-b"),
		cloud.node("vpc", false),
		cloud.node("address", false),
		cloud.node("leaf-a", false, "vpc", "address"),
		cloud.node("leaf-b", true, "vpc"),
		cloud.node("table", false, "vpc"),
	}
}

func (cloud *fakeCloud) engine(t *testing.T, o resourcegraph.Options, nodes ...*resourcegraph.Node) *resourcegraph.Engine {
	t.Helper()
	graph, err := resourcegraph.New(nodes...)
	if err != nil {
		t.Fatal(err)
	}
	state, err := resourcegraph.NewState(cloud.disk, cloud.save)
	if err != nil {
		t.Fatal(err)
	}
	o.Classify = classify
	if o.ConsistencyWindow == 0 {
		o.ConsistencyWindow = 30 * time.Second
	}
	return resourcegraph.NewEngine(graph, state, o)
}

func (cloud *fakeCloud) apply(t *testing.T, o resourcegraph.Options, nodes ...*resourcegraph.Node) error {
	t.Helper()
	e := cloud.engine(t, o, nodes...)
	p, err := e.Plan(t.Context())
	if err != nil {
		return err
	}
	return e.Apply(t.Context(), p)
}

func (cloud *fakeCloud) destroy(t *testing.T, nodes ...*resourcegraph.Node) error {
	t.Helper()
	time.Sleep(cloud.lag) // a deletion relies on lists
	e := cloud.engine(t, resourcegraph.Options{}, nodes...)
	p, err := e.PlanDestroy(t.Context())
	if err != nil {
		return err
	}
	return e.Destroy(t.Context(), p)
}

func (cloud *fakeCloud) names() []string {
	var names []string
	for _, r := range cloud.resources {
		names = append(names, r.node)
	}
	slices.Sort(names)
	return names
}

var everything = []string{"address", "join", "leaf-a", "leaf-b", "table", "vpc"}

func TestResourcesAreCreatedAfterTheirDependenciesAndDeletedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud() // refuses every other order
		if err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...); err != nil {
			t.Fatal(err)
		}
		if got := cloud.names(); !slices.Equal(got, everything) {
			t.Errorf("created %v", got)
		}
		cloud.log = nil
		if err := cloud.destroy(t, cloud.network()...); err != nil {
			t.Fatal(err)
		}
		if len(cloud.resources) > 0 {
			t.Errorf("left %v", cloud.names())
		}
		for _, call := range cloud.log {
			if strings.HasPrefix(call, "delete") && strings.Count(strings.Join(cloud.log, ","), call) > 1 {
				t.Errorf("%s was attempted while the resource was in use", call)
			}
		}
	})
}

func TestIndependentCallsRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		cloud.latency = 100 * time.Millisecond
		e := cloud.engine(t, resourcegraph.Options{}, cloud.network()...)
		p, err := e.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := e.Apply(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		// vpc and address; leaf-a, leaf-b and table; join
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestCallsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		cloud.latency = time.Second
		var nodes []*resourcegraph.Node
		for i := range 20 {
			nodes = append(nodes, cloud.node(fmt.Sprintf("n%d", i), true))
		}
		if err := cloud.apply(t, resourcegraph.Options{Limit: 3}, nodes...); err != nil {
			t.Fatal(err)
		}
		if cloud.most != 3 {
			t.Errorf("%d calls at once", cloud.most)
		}
	})
}

func TestSecondRunWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		if err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...); err != nil {
			t.Fatal(err)
		}
		cloud.writes = 0
		if err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...); err != nil {
			t.Fatal(err)
		}
		if cloud.writes != 0 {
			t.Errorf("%d writes: %v", cloud.writes, cloud.log)
		}
	})
}

func TestPlanWritesNothingAndShowsTheDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		if err := cloud.apply(t, resourcegraph.Options{}, cloud.node("vpc", false), cloud.node("table", false, "vpc")); err != nil {
			t.Fatal(err)
		}
		for id, r := range cloud.resources {
			if r.node == "table" {
				r.size = "small"
				cloud.resources[id] = r
			}
		}
		cloud.writes = 0
		disk := string(cloud.disk)
		p, err := cloud.engine(t, resourcegraph.Options{}, cloud.node("vpc", false), cloud.node("table", false, "vpc"), cloud.node("leaf", true, "vpc")).Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		p.Write(&text, resourcegraph.WriteOptions{})
		want := `  Thing vpc (vpc-0001)
  ~ Thing table (table-0002)
        size: small -> large
  + Thing leaf: colour any, size large
1 to create, 1 to update, 0 to delete, 1 unchanged
`
		if text.String() != want {
			t.Errorf("got\n%swant\n%s", text.String(), want)
		}
		if cloud.writes > 0 || string(cloud.disk) != disk {
			t.Error("the plan has written")
		}
		if err := cloud.apply(t, resourcegraph.Options{}, cloud.node("vpc", false), cloud.node("table", false, "vpc")); err != nil {
			t.Fatal(err)
		}
		if got := cloud.resources["table-0002"].size; got != "large" {
			t.Errorf("drift was not repaired: %s", got)
		}
	})
}

// The process dies at every moment: before and after each call and each write of the state. The next run of the same command
// finishes, without a second resource; destroy leaves no resource.
func TestDeathAtAnyMomentIsResumedWithoutALeak(t *testing.T) {
	for lag, name := range map[time.Duration]string{0: "resources are found at once", 5 * time.Second: "resources are found after five seconds"} {
		t.Run(name, func(t *testing.T) {
			moments := 0
			for at := 1; ; at++ {
				over := false
				synctest.Test(t, func(t *testing.T) {
					cloud := newFakeCloud()
					cloud.lag, cloud.slow, cloud.dieAt = lag, 7*time.Second, at
					err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...)
					if !cloud.dead {
						over = true
						return
					}
					if err == nil {
						t.Fatalf("death at moment %d is not reported", at)
					}
					cloud.dead, cloud.dieAt = false, 0
					if err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...); err != nil {
						t.Fatalf("after death at moment %d: %v", at, err)
					}
					if got := cloud.names(); !slices.Equal(got, everything) {
						t.Fatalf("after death at moment %d there are %v", at, got)
					}
					// The same for the deletion, at another moment.
					cloud.moment, cloud.dieAt = 0, at%30+1
					_ = cloud.destroy(t, cloud.network()...)
					cloud.dead, cloud.dieAt = false, 0
					if err := cloud.destroy(t, cloud.network()...); err != nil {
						t.Fatal(err)
					}
					if len(cloud.resources) > 0 {
						t.Fatalf("after death at moment %d the deletion leaves %v", at, cloud.names())
					}
				})
				if over {
					break
				}
				moments = at
			}
			if moments < 40 {
				t.Errorf("only %d moments", moments)
			}
		})
	}
}

func TestThrottledAndLostAnswersLeaveOneOfEach(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			cloud := newFakeCloud()
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 0))
			cloud.fail = func(string) error {
				mu.Lock()
				defer mu.Unlock()
				if random.IntN(2) == 0 {
					return errThrottled
				}
				return nil
			}
			cloud.lose = func(action string) bool {
				mu.Lock()
				defer mu.Unlock()
				return random.IntN(4) == 0
			}
			cloud.lag = 3 * time.Second
			if err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...); err != nil {
				t.Fatal(err)
			}
			if got := cloud.names(); !slices.Equal(got, everything) {
				t.Fatalf("seed %d: %v", seed, got)
			}
			if err := cloud.destroy(t, cloud.network()...); err != nil {
				t.Fatal(err)
			}
			if len(cloud.resources) > 0 {
				t.Fatalf("seed %d leaves %v", seed, cloud.names())
			}
		})
	}
}

// A deletion is complete if the resource does not exist. A resource in another state is not gone.
func TestDeletionIsRepeatedUntilTheResourceIsGone(t *testing.T) {
	for name, err := range map[string]error{"in use": errInUse, "in another state": errBusy, "throttled": errThrottled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newFakeCloud()
				if err := cloud.apply(t, resourcegraph.Options{}, cloud.node("vpc", false)); err != nil {
					t.Fatal(err)
				}
				failures := 3
				cloud.fail = func(action string) error {
					if failures--; action == "delete vpc" && failures >= 0 {
						return err
					}
					return nil
				}
				n := cloud.node("vpc", false)
				n.SlowDeletion = false
				if err := cloud.destroy(t, n); err != nil || len(cloud.resources) > 0 {
					t.Errorf("left %v: %v", cloud.names(), err)
				}
			})
		})
	}
}

func TestDeletionThatIsNeverAcceptedIsGivenUpWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"in use":             {errInUse, "in use"},
		"never answered":     {errLost, "no answer"},
		"throttled for ever": {errThrottled, "throttled"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newFakeCloud()
				if err := cloud.apply(t, resourcegraph.Options{}, cloud.node("vpc", false)); err != nil {
					t.Fatal(err)
				}
				cloud.fail = func(action string) error { return failing(action, c.err) }
				began := time.Now()
				err := cloud.destroy(t, cloud.node("vpc", false))
				var given *resourcegraph.GivenUpError
				if !errors.As(err, &given) || !strings.Contains(err.Error(), "deleting Thing vpc") || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v", err)
				}
				// The back-off is at most 10 seconds, for 20 minutes.
				if took := time.Since(began); given.Attempts < 100 || given.Attempts > 300 || took > 21*time.Minute {
					t.Errorf("%d attempts in %s", given.Attempts, took)
				}
			})
		})
	}
}

// The policy of a command allows the deletion of tagged resources, and a deleted resource carries no tag: IAM refuses a deletion that
// another deletion has completed.
func TestDeletionThatIsRefusedIsCompleteIfTheResourceIsGone(t *testing.T) {
	for name, gone := range map[string]bool{"gone": true, "still there": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newFakeCloud()
				if err := cloud.apply(t, resourcegraph.Options{}, cloud.node("vpc", false)); err != nil {
					t.Fatal(err)
				}
				cloud.fail = func(action string) error {
					if action == "delete vpc" && gone {
						clear(cloud.resources)
					}
					return failing(action, errDenied)
				}
				if err := cloud.destroy(t, cloud.node("vpc", false)); gone != (err == nil) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func failing(action string, err error) error {
	if strings.HasPrefix(action, "delete") {
		return err
	}
	return nil
}

func TestFailureStopsOnlyWhatDependsOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		cloud.fail = func(action string) error {
			if action == "create leaf-a" {
				return errDenied
			}
			return nil
		}
		err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...)
		if !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "creating Thing leaf-a") {
			t.Errorf("got %v", err)
		}
		if got, want := cloud.names(), []string{"address", "leaf-b", "table", "vpc"}; !slices.Equal(got, want) {
			t.Errorf("created %v", got)
		}
	})
}

func TestApplyEndsWhenEverythingIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		cloud.slow = time.Minute
		began := time.Now()
		if err := cloud.apply(t, resourcegraph.Options{}, cloud.network()...); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Minute || took > 90*time.Second {
			t.Errorf("took %s: resources do not wait for each other to be ready, and the run waits for all", took)
		}
	})
}

func TestDriftOfAnImmutableAttributeIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		n := cloud.node("vpc", false)
		if err := cloud.apply(t, resourcegraph.Options{}, n); err != nil {
			t.Fatal(err)
		}
		n.Desired = func(resourcegraph.IDs) resourcegraph.Attributes { return resourcegraph.Attributes{"colour": "red"} }
		err := cloud.apply(t, resourcegraph.Options{}, n)
		if err == nil || !strings.Contains(err.Error(), `has colour "any" instead of "red", which cannot be changed`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestResourceOfAnotherOwnerIsNotTouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		n := cloud.node("role", true)
		n.Read = func(context.Context, resourcegraph.Lookup) (resourcegraph.Observed, error) {
			return resourcegraph.Observed{}, &resourcegraph.NotOwnedError{Kind: "Role", ID: "r", Want: "owner=me"}
		}
		err := cloud.apply(t, resourcegraph.Options{}, n)
		var foreign *resourcegraph.NotOwnedError
		if !errors.As(err, &foreign) || cloud.writes > 0 {
			t.Errorf("got %v after %d writes", err, cloud.writes)
		}
	})
}

func TestGraphWithACycleOrAnUnknownDependencyIsRefused(t *testing.T) {
	cloud := newFakeCloud()
	_, err := resourcegraph.New(cloud.node("a", true, "b"), cloud.node("b", true, "a"), cloud.node("c", true, "d"), cloud.node("c", true))
	for _, want := range []string{"depends on itself", `depends on "d"`, `"c" is twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestStateFileIsForOneProcessAndOneAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	first, err := resourcegraph.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resourcegraph.OpenFile(path); err == nil {
		t.Error("a second process could open the state")
	}
	if err := first.CheckScope(map[string]string{"account": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := first.CheckScope(map[string]string{"account": "2"}); err == nil {
		t.Error("the state was accepted for another account")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := resourcegraph.OpenFile(path); err != nil {
		t.Errorf("after the first process: %v", err)
	}
}

func TestStateFileIsForItsUserOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode")
	}
	synctest.Test(t, func(t *testing.T) {
		cloud := newFakeCloud()
		path := filepath.Join(t.TempDir(), "hypershift", "state.json")
		file, err := resourcegraph.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		graph, err := resourcegraph.New(cloud.network()...)
		if err != nil {
			t.Fatal(err)
		}
		e := resourcegraph.NewEngine(graph, file.State, resourcegraph.Options{Classify: classify})
		plan, err := e.Plan(t.Context())
		if err := errors.Join(err, e.Apply(t.Context(), plan), file.Close()); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has the mode %o", name, got)
			}
		}
	})
}

// A plan leaves no file, and the end of a deletion neither.
func TestLockFilesAreDeletedWithTheState(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	for range 2 {
		f, err := resourcegraph.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 && runtime.GOOS != "windows" {
		t.Errorf("left: %v, %v", files, err)
	}
}

// Each process deletes the lock file when it ends. Two of them must not hold it at the same time.
func TestLockIsExclusiveWhileLockFilesAreDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var users, opened atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				f, err := resourcegraph.OpenFile(path)
				if err != nil {
					continue // another one has it
				}
				if n := users.Add(1); n != 1 {
					t.Errorf("%d users at the same time", n)
				}
				opened.Add(1)
				users.Add(-1)
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if opened.Load() == 0 {
		t.Error("no one could open the state")
	}
}
