package cloud

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// changes polls the call log of the emulator, for everybody that follows the accounts. Reading the calls since the last poll is
// one small request; reading the accounts is much more.
type changes struct {
	aws *awsemulator.Emulator

	mu         sync.Mutex
	next       int
	polled     time.Time
	generation int       // counts the polls that found a change
	altered    time.Time // when the last of them was
	// accounts are those that were called.
	accounts map[string]bool
}

func newChanges(aws *awsemulator.Emulator) *changes {
	return &changes{aws: aws, accounts: map[string]bool{}}
}

// fresh is how long the result of a poll is used for other followers.
const fresh = interval / 2

// follower returns a function that reports whether anything may have changed since its last call.
func (c *changes) follower() func(context.Context) (bool, error) {
	seen := -1
	return func(ctx context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.poll(ctx); err != nil {
			return false, err
		}
		changed := seen != c.generation
		seen = c.generation
		return changed, nil
	}
}

func (c *changes) poll(ctx context.Context) error {
	if time.Since(c.polled) < fresh {
		return nil
	}
	calls, err := c.aws.CallsSince(ctx, c.next)
	if err != nil {
		return err
	}
	c.polled = time.Now()
	changed := false
	for _, call := range calls {
		c.next = call.Number + 1
		if !alters(call) {
			continue
		}
		changed = true
		if call.Account != "" {
			c.accounts[call.Account] = true
		}
	}
	if changed {
		c.generation++
		c.altered = time.Now()
	}
	return nil
}

// visible is how long Describe calls of the emulator may not find a new resource, with a margin.
const visible = 10 * time.Second

// shown reports whether all changes are seen by Describe calls.
func (c *changes) shown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.altered) > visible
}

// called returns the accounts that were called, sorted.
func (c *changes) called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.accounts))
}

// alters reports whether a call may have changed the traffic. An aborted call may have done so.
func alters(call awsemulator.Call) bool {
	switch call.Service {
	case "ec2", "elasticloadbalancing", "route53":
	default:
		return false
	}
	for _, reads := range []string{"Describe", "List", "Get"} {
		if strings.HasPrefix(call.Action, reads) {
			return false
		}
	}
	return call.Status < http.StatusBadRequest
}
