package cache_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

const ttl = 10 * time.Minute

// testList is a cached list, and AWS's list: items written as "key" or "key=value".
type testList struct {
	*cache.List[string]
	t     *testing.T
	clock *clocktesting.FakeClock
	aws   []string
	loads int
	err   error

	// during is called while AWS answers the next load, which shows the state before.
	during func()
}

func key(item string) string {
	k, _, _ := strings.Cut(item, "=")
	return k
}

func newList(t *testing.T, ttl time.Duration, aws ...string) *testList {
	l := &testList{t: t, clock: clocktesting.NewFakeClock(time.Unix(0, 0)), aws: aws}
	l.List = cache.NewList(cache.ListOptions[string]{Clock: l.clock, Key: key, TTL: ttl, Load: func(context.Context) ([]string, error) {
		l.loads++
		answer, during := slices.Clone(l.aws), l.during
		l.during = nil
		if during != nil {
			during()
		}
		return answer, l.err
	}})
	return l
}

func (l *testList) want(loads int, items ...string) {
	l.t.Helper()
	got, err := l.All(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if !slices.Equal(got, items) || l.loads != loads {
		l.t.Errorf("got %v after %d loads, want %v after %d", got, l.loads, items, loads)
	}
	for _, item := range items {
		if one, found, err := l.Get(l.t.Context(), key(item)); one != item || !found || err != nil {
			l.t.Errorf("got %s: %q, %v, %v", key(item), one, found, err)
		}
	}
}

func TestALoadServesUntilItIsInvalidated(t *testing.T) {
	l := newList(t, 0, "b", "a")
	l.want(1, "a", "b")
	l.aws = nil
	l.clock.Step(24 * time.Hour)
	l.want(1, "a", "b")
	l.Invalidate(0)
	l.want(2)
	if _, found, err := l.Get(t.Context(), "a"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestALoadServesUntilItsTTLHasPassed(t *testing.T) {
	l := newList(t, ttl, "a")
	l.want(1, "a")
	l.aws = []string{"a", "b"}
	l.clock.Step(ttl)
	l.want(1, "a")
	l.clock.Step(time.Second)
	l.want(2, "a", "b")
}

func TestInvalidateKeepsALoadThatIsYoungEnough(t *testing.T) {
	l := newList(t, 0, "a")
	l.want(1, "a")
	l.Invalidate(time.Second)
	l.want(1, "a")
	l.clock.Step(time.Second)
	l.Invalidate(time.Second)
	l.want(2, "a")
}

func TestOwnWritesAreSeenAtOnce(t *testing.T) {
	l := newList(t, ttl, "a", "b")
	l.want(1, "a", "b")
	l.Put("c=new")
	l.Put("b=changed")
	l.Remove("a")
	l.want(1, "b=changed", "c=new")
}

func TestOwnWritesOutliveALaggingListForTheConsistencyWindow(t *testing.T) {
	l := newList(t, 0, "a")
	l.want(1, "a")
	l.Put("b")
	l.Remove("a")
	l.clock.Step(awsx.ConsistencyWindow)
	l.Invalidate(0)
	l.want(2, "b")
	l.clock.Step(time.Second)
	l.Invalidate(0)
	l.want(3, "a")
}

func TestAnItemThatIsListedIsTakenAsListed(t *testing.T) {
	l := newList(t, 0)
	l.want(1)
	l.Put("a=ours")
	l.aws = []string{"a=theirs"}
	l.Invalidate(0)
	l.want(2, "a=theirs")
	l.aws = nil // deleted by others
	l.Invalidate(0)
	l.want(3)
}

func TestAnUpdateLastsUntilTheNextLoad(t *testing.T) {
	l := newList(t, 0, "a", "b")
	l.want(1, "a", "b")
	l.Update("b=changed")
	l.Update("c")
	l.want(1, "a", "b=changed")
	l.Invalidate(0)
	l.want(2, "a", "b")
}

func TestAKeyIsUnaccountedUnlessItIsListedOrDeleted(t *testing.T) {
	l := newList(t, 0, "a")
	l.want(1, "a")
	if l.IsUnaccounted("a") || !l.IsUnaccounted("b") || l.IsUnaccounted("") {
		t.Error("a is listed, b is not, and an empty key is none")
	}
	l.MarkDeleted("b")
	if l.IsUnaccounted("b") {
		t.Error("b was deleted by us")
	}
	l.Put("b")
	l.want(1, "a", "b")
	l.MarkDeleted("a")
	l.want(1, "a", "b") // AWS lists it while it is being deleted
}

func TestForgettingOneItemCostsNoLoad(t *testing.T) {
	l := newList(t, ttl, "a", "b")
	l.want(1, "a", "b")
	l.Put("a=ours")
	l.Forget("a")
	l.want(1, "b")
	l.clock.Step(ttl + time.Second)
	l.want(2, "a", "b")
}

func TestAFailedLoadIsNotCached(t *testing.T) {
	l := newList(t, ttl, "a")
	l.err = errors.New("throttled")
	if _, err := l.All(t.Context()); !errors.Is(err, l.err) {
		t.Fatalf("error %v, want %v", err, l.err)
	}
	l.err = nil
	l.want(2, "a")
}

func TestWritesDuringALoadAreKept(t *testing.T) {
	l := newList(t, ttl, "a", "b", "c")
	l.during = func() {
		l.Put("a=ours")
		l.Remove("b")
		l.Forget("c")
		l.Put("d")
	}
	l.want(1, "a=ours", "d")
}

func TestALoadThatBeganBeforeAnInvalidationIsNotUsed(t *testing.T) {
	l := newList(t, 0, "a")
	l.during = func() {
		l.aws = []string{"a", "b"}
		l.Invalidate(0)
	}
	l.want(2, "a", "b")
}

func TestALoadThatHangsBlocksNoCallerBeyondItsContext(t *testing.T) {
	l := newList(t, 0, "a")
	l.during = func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := l.All(ctx); err == nil {
			t.Error("an answer before AWS has given one")
		}
		l.Put("b")
		l.Invalidate(time.Hour)
	}
	l.want(1, "a", "b")
}
