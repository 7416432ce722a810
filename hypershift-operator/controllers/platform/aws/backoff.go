package aws

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
)

// The intervals of checks of an operation of AWS: short at first, and longer the
// longer it takes.
const (
	minInterval = 5 * time.Second
	maxInterval = 5 * time.Minute
)

// maxWaits bounds the number of objects that wait at the same time. One that is
// dropped starts again at the shortest interval.
const maxWaits = 10000

// A backoff remembers since when each object waits for AWS. A restart of the process
// ends all waits, which only leads to earlier checks.
type backoff struct {
	clock clock.PassiveClock
	since *cache.Keyed[types.UID, time.Time]
}

func newBackoff(clk clock.PassiveClock) *backoff {
	return &backoff{clock: clk, since: cache.NewKeyed[types.UID, time.Time](clk, maxWaits)}
}

// next returns when to check again. The first call for an object starts its wait.
func (b *backoff) next(uid types.UID) time.Duration {
	now := b.clock.Now()
	since, waits := b.since.Last(uid)
	if !waits {
		since = now
		b.since.Put(uid, since, 0)
	}
	return min(max(now.Sub(since)/4, minInterval), maxInterval)
}

// end ends the wait of an object: it is over, or the object is gone.
func (b *backoff) end(uid types.UID) { b.since.Forget(uid) }
