package owned_test

import (
	"context"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/owned"
)

// world is a list in AWS and how often it was asked for.
type world struct {
	clock *clocktesting.FakeClock
	aws   []string
	looks int
	list  *owned.List[string]

	meanwhile func()
}

func start(aws ...string) *world {
	w := &world{clock: clocktesting.NewFakeClock(time.Unix(0, 0)), aws: aws}
	w.list = owned.New(w.clock, func(s string) string { return s }, func(context.Context) ([]string, error) {
		w.looks++
		answer, meanwhile := slices.Clone(w.aws), w.meanwhile
		w.meanwhile = nil
		if meanwhile != nil {
			meanwhile()
		}
		return answer, nil
	})
	return w
}

func (w *world) want(t *testing.T, looks int, items ...string) {
	t.Helper()
	got, err := w.list.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, items) || w.looks != looks {
		t.Errorf("got %v after %d looks, want %v after %d", got, w.looks, items, looks)
	}
}

func TestOneLookServesEverybody(t *testing.T) {
	w := start("a")
	w.want(t, 1, "a")
	w.aws = nil
	w.want(t, 1, "a")
	w.list.Forget(0)
	w.want(t, 2)
}

func TestThoseWhoWaitShareALook(t *testing.T) {
	w := start("a")
	w.want(t, 1, "a")
	w.list.Forget(time.Second)
	w.want(t, 1, "a")
	w.clock.Step(time.Second)
	w.list.Forget(time.Second)
	w.want(t, 2, "a")
}

func TestWhatWeMadeCountsUntilTheListHasIt(t *testing.T) {
	w := start()
	w.want(t, 1)
	w.list.Made("a")
	w.list.Forget(0)
	w.want(t, 2, "a") // AWS does not list it yet

	w.aws = []string{"a"}
	w.list.Forget(0)
	w.want(t, 3, "a")

	w.aws = nil // somebody deleted it
	w.list.Forget(0)
	w.want(t, 4)
}

func TestWhatWeMadeAndNobodyEverListsIsForgotten(t *testing.T) {
	w := start()
	w.list.Made("a")
	w.clock.Step(2 * time.Minute)
	w.want(t, 1)
}

func TestWhatIsGoneIsGone(t *testing.T) {
	w := start("a", "b")
	w.want(t, 1, "a", "b")
	w.list.Gone("a")
	w.want(t, 1, "b")
}

func TestAnUpdateNeedsNoLookAndEndsWithIt(t *testing.T) {
	w := start("a", "b")
	w.want(t, 1, "a", "b")
	w.list.Update("b")
	w.list.Update("c")
	w.want(t, 1, "a", "b")
	w.aws = []string{"a"}
	w.list.Forget(0)
	w.want(t, 2, "a")
}

func TestWhatIsRecordedAndNotListedIsMissingUntilItsEnd(t *testing.T) {
	w := start("a")
	w.want(t, 1, "a")
	if w.list.Missing("a") || !w.list.Missing("b") || w.list.Missing("") {
		t.Error("a is listed, b is missing, and nothing recorded is nothing missing")
	}
	w.list.Ended("b")
	if w.list.Missing("b") {
		t.Error("b was deleted by us: that AWS does not list it is no wonder")
	}
}

// slow runs what happens while AWS answers the next look, which shows what was there before.
func (w *world) slow(meanwhile func()) {
	w.meanwhile = meanwhile
}

func TestAWriteDuringALookIsKept(t *testing.T) {
	w := start("a", "b")
	w.slow(func() {
		w.list.Made("c")
		w.list.Gone("b")
	})
	w.want(t, 1, "a", "c")
}

func TestALookThatBeganBeforeItWasInvalidatedIsNotUsed(t *testing.T) {
	w := start("a")
	w.slow(func() {
		w.aws = []string{"a", "b"}
		w.list.Forget(0)
	})
	w.want(t, 2, "a", "b")
}

func TestALookThatHangsHoldsNobodyUp(t *testing.T) {
	w := start("a")
	w.slow(func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := w.list.Get(ctx); err == nil {
			t.Error("it has an answer before AWS has given one")
		}
		w.list.Made("b")
		w.list.Forget(time.Hour)
	})
	w.want(t, 1, "a", "b")
}
