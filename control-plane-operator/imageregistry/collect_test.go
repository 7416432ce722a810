package imageregistry

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeClock advances when the program or the renewals sleep. Each of them gets its turn.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
	// slept is called before each sleep.
	slept func(time.Duration)
}

func (c *fakeClock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) sleep(ctx context.Context, d time.Duration) {
	if c.slept != nil {
		c.slept(d)
	}
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	time.Sleep(time.Millisecond)
}

func newCollection(t *testing.T, f *fakeCluster, program ...string) *Collection {
	t.Helper()
	c := &fakeClock{now: time.Unix(1000, 0)}
	return &Collection{Program: program, cluster: f.client(t), now: c.time, sleep: c.sleep, holder: "this-pod"}
}

func TestTheLeaseIsHeldWhileTheProgramRuns(t *testing.T) {
	f, dir := newFakeCluster(t), t.TempDir()
	ran := filepath.Join(dir, "ran")
	c := newCollection(t, f, "/bin/sh", "-c", "echo ran >"+ran)
	settled := false
	sleeping := c.sleep
	c.sleep = func(ctx context.Context, d time.Duration) {
		if d == settling {
			settled = true
			if _, err := os.Stat(ran); err == nil {
				t.Error("the program runs before the gateways know")
			}
			f.set(func() {
				if f.lease.Spec.HolderIdentity != "this-pod" {
					t.Errorf("meanwhile %q holds the Lease", f.lease.Spec.HolderIdentity)
				}
			})
		}
		sleeping(ctx, d)
	}
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err != nil || !settled {
		t.Errorf("the program has not run: %v", err)
	}
	if got := f.lease.Spec.HolderIdentity; got != "" {
		t.Errorf("afterwards %q holds the Lease", got)
	}
}

func TestTheProgramIsKilledWhenTheLeaseMayHaveExpired(t *testing.T) {
	f := newFakeCluster(t)
	c := newCollection(t, f, "/bin/sleep", "600")
	sleeping := c.sleep
	c.sleep = func(ctx context.Context, d time.Duration) {
		if d == settling {
			f.set(func() { f.down = true })
		}
		sleeping(ctx, d)
	}
	began := time.Now()
	err := c.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "could not be renewed") || time.Since(began) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestAnotherCollectionIsNotDisturbed(t *testing.T) {
	f := newFakeCluster(t)
	c := newCollection(t, f, "/bin/false")
	f.lease = &lease{Spec: leaseSpec{HolderIdentity: "other-pod", RenewTime: c.now().Add(-leaseLife).UTC().Format(microTime)}}
	if err := c.run(t.Context()); err == nil || !strings.Contains(err.Error(), "pod other-pod holds it") {
		t.Errorf("got %v", err)
	}
	f.lease.Spec.RenewTime = c.now().Add(-3 * leaseLife).UTC().Format(microTime)
	c.Program = []string{"/bin/true"}
	if err := c.run(t.Context()); err != nil {
		t.Errorf("a dead holder: %v", err)
	}
}

func TestAFailureOfTheProgramIsOne(t *testing.T) {
	f := newFakeCluster(t)
	if err := newCollection(t, f, "/bin/false").run(t.Context()); err == nil || f.lease.Spec.HolderIdentity != "" {
		t.Errorf("%v; %q holds the Lease", err, f.lease.Spec.HolderIdentity)
	}
}
