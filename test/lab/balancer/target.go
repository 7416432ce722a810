package balancer

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// patience is how long a target may take to answer.
	patience = 2 * time.Second
	// illAfter is how many checks in a row have to fail; one that passes makes a target well again.
	illAfter = 2
)

// target is a target that is registered, or was until lately.
type target struct {
	targetSpec
	clock    clock.WithTicker
	interval time.Duration
	drain    time.Duration
	left     chan struct{} // closed when it is registered no longer

	mu       sync.Mutex
	failed   int // checks in a row
	healthy  bool
	holders  int             // connections
	together context.Context // ends all connections that there are now
	part     context.CancelFunc
}

func newTarget(spec targetSpec, o *Options) *target {
	t := &target{targetSpec: spec, clock: o.Clock, interval: o.HealthInterval, drain: o.Drain, left: make(chan struct{})}
	t.together, t.part = context.WithCancel(context.Background())
	return t
}

// run checks the target until it may be forgotten: it has left, and its connections have ended or their time is over.
func (t *target) run(ctx context.Context) {
	defer t.dismiss()
	ticks := t.clock.NewTicker(t.interval)
	defer ticks.Stop()
	left := t.left
	var over <-chan time.Time
	for t.check(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-left:
			left, over = nil, t.clock.After(t.drain)
		case <-ticks.C():
			t.check(ctx)
		}
		if left == nil && !t.busy() {
			return
		}
	}
}

// check looks how the target is. Whoever talks to one that has fallen ill is told, as by AWS, instead of waiting for nothing.
func (t *target) check(ctx context.Context) {
	well := t.targetSpec.check.passes(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if well {
		t.failed, t.healthy = 0, true
		return
	}
	if t.failed++; t.failed >= illAfter && t.healthy {
		t.healthy = false
		t.part()
		t.together, t.part = context.WithCancel(context.Background())
	}
}

// hold gives what ends a new connection, and what to call when it has ended.
func (t *target) hold() (together context.Context, release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders++
	return t.together, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.holders--
	}
}

func (t *target) dismiss() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part()
}

func (t *target) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holders > 0
}

func (t *target) well() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.healthy
}

// passes asks once.
func (c check) passes(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.path != "" {
		return c.answers(ctx)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address.String())
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// prober has no connection left over that would keep a dead target looking alive.
var prober = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (c check) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address.String()+c.path, nil)
	if err != nil {
		return false
	}
	resp, err := prober.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}
