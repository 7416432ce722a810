package snapshot_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/snapshot"
)

const maxAge = 10 * time.Minute

// world is a cloud that counts how often it is listed.
type world struct {
	*snapshot.Snapshot[string]
	clock *clocktesting.FakeClock
	items map[string]string
	lists int
	err   error

	// meanwhile happens while AWS answers the next list, which shows what was there before.
	meanwhile func()
}

func start() *world {
	w := &world{clock: clocktesting.NewFakeClock(time.Unix(0, 0)), items: map[string]string{"a": "one"}}
	w.Snapshot = snapshot.New(w.clock, maxAge, func(context.Context) (map[string]string, error) {
		w.lists++
		answer, meanwhile := maps.Clone(w.items), w.meanwhile
		w.meanwhile = nil
		if meanwhile != nil {
			meanwhile()
		}
		return answer, w.err
	})
	return w
}

func (w *world) want(t *testing.T, key, item string, lists int) {
	t.Helper()
	got, found, err := w.Get(t.Context(), key)
	if err != nil || got != item || found != (item != "") {
		t.Errorf("%s is %q (found %v, error %v), want %q", key, got, found, err, item)
	}
	if w.lists != lists {
		t.Errorf("listed %d times, want %d", w.lists, lists)
	}
}

func TestOneListServesAllUntilItIsOld(t *testing.T) {
	w := start()
	w.want(t, "a", "one", 1)
	w.want(t, "b", "", 1)
	w.items["b"] = "two"
	w.clock.Step(maxAge)
	w.want(t, "b", "", 1)
	w.clock.Step(time.Second)
	w.want(t, "b", "two", 2)
}

func TestOurOwnWriteIsSeenAtOnce(t *testing.T) {
	w := start()
	w.want(t, "b", "", 1)
	w.Put("b", "ours")
	w.Drop("a")
	w.want(t, "b", "ours", 1)
	w.want(t, "a", "", 1)
}

func TestAListThatLagsBehindDoesNotTakeAWriteBack(t *testing.T) {
	w := start()
	w.want(t, "a", "one", 1)
	w.clock.Step(maxAge)
	w.Put("b", "ours")
	w.Drop("a")
	w.clock.Step(time.Second)
	w.want(t, "b", "ours", 2)
	w.want(t, "a", "", 2)
	w.clock.Step(maxAge + time.Second)
	w.want(t, "b", "", 3)
	w.want(t, "a", "one", 3)
}

func TestWhatOthersWriteIsSeen(t *testing.T) {
	w := start()
	w.want(t, "a", "one", 1)
	w.clock.Step(maxAge)
	w.Put("a", "ours")
	w.items["a"] = "theirs"
	w.clock.Step(time.Second)
	w.want(t, "a", "theirs", 2)
}

func TestWhatIsForgottenCostsTheOthersNothing(t *testing.T) {
	w := start()
	w.items["b"] = "two"
	w.want(t, "a", "one", 1)
	w.Put("a", "ours")
	w.Forget("a")
	w.want(t, "a", "", 1)
	w.want(t, "b", "two", 1)
	w.clock.Step(maxAge + time.Second)
	w.want(t, "a", "one", 2)
}

func TestAListThatFailedIsNotBelieved(t *testing.T) {
	w := start()
	w.err = errors.New("throttled")
	if _, _, err := w.Get(t.Context(), "a"); !errors.Is(err, w.err) {
		t.Fatalf("error %v, want %v", err, w.err)
	}
	w.err = nil
	w.want(t, "a", "one", 2)
}

func TestAWriteDuringAListIsKept(t *testing.T) {
	w := start()
	w.items["b"], w.items["c"] = "two", "three"
	w.meanwhile = func() {
		w.Put("a", "ours")
		w.Drop("b")
		w.Forget("c")
	}
	w.want(t, "a", "ours", 1)
	w.want(t, "b", "", 1)
	w.want(t, "c", "", 1)
}

func TestAListThatHangsHoldsNobodyUp(t *testing.T) {
	w := start()
	w.meanwhile = func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err := w.Get(ctx, "a"); err == nil {
			t.Error("it has an answer before AWS has given one")
		}
	}
	w.want(t, "a", "one", 1)
}
