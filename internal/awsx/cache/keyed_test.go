package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

func TestKeyed(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	c := cache.NewKeyed[string, int](clk, 2)
	calls := 0
	var failure error
	get := func(key string) (int, error) {
		return c.Get(t.Context(), key, func(context.Context) (int, time.Duration, error) {
			calls++
			return calls, ttl, failure
		})
	}
	want := func(key string, want int) {
		t.Helper()
		if got, err := get(key); got != want || err != nil {
			t.Errorf("%s is %d, %v; want %d", key, got, err, want)
		}
	}
	want("a", 1)
	want("a", 1)
	want("b", 2)
	clk.Step(ttl)
	if last, known := c.Last("a"); last != 1 || !known {
		t.Errorf("the last answer is %d, %v", last, known)
	}
	if _, fresh := c.Fresh("a"); fresh {
		t.Error("an answer outlives its lifetime")
	}
	want("a", 3)
	failure = errors.New("throttled")
	c.Forget("a")
	if _, err := get("a"); !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	failure = nil
	want("a", 5)
	c.Put("a", 10, time.Second)
	want("a", 10)
	want("b", 6)
	want("c", 7) // the third key takes the place of the least recently used key
	if _, known := c.Last("a"); known {
		t.Error("the cache is larger than its size")
	}
}

func TestKeyedSharesCallsForOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{ region, name string }
		c := cache.NewKeyed[key, string](clock.RealClock{}, 10)
		calls := make(chan key, 10)
		got := make(chan string)
		for _, k := range []key{{"a", "b/c"}, {"a", "b/c"}, {"a/b", "c"}} {
			go func() {
				value, _ := c.Get(t.Context(), k, func(context.Context) (string, time.Duration, error) {
					time.Sleep(time.Second)
					calls <- k
					return k.region, ttl, nil
				})
				got <- value
			}()
		}
		seen := map[string]int{}
		for range 3 {
			seen[<-got]++
		}
		if seen["a"] != 2 || seen["a/b"] != 1 || len(calls) != 2 {
			t.Errorf("answers %v after %d calls", seen, len(calls))
		}
	})
}
