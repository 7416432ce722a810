package balancer

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// patience is the timeout of a health check.
	patience = 2 * time.Second
	// illAfter is the number of consecutive failures that make a target unhealthy. One success makes it healthy again.
	illAfter = 2
)

// target is a target that is registered, or was until recently.
type target struct {
	targetSpec
	dial     func(context.Context, netip.AddrPort) (net.Conn, error)
	clock    clock.WithTicker
	interval time.Duration
	drain    time.Duration
	left     chan struct{} // closed when it is deregistered

	mu       sync.Mutex
	failed   int // consecutive failed checks
	healthy  bool
	holders  int             // open connections
	together context.Context // ends all open connections
	part     context.CancelFunc
}

func newTarget(spec targetSpec, o *Options) *target {
	dial := func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return o.Dial(ctx, spec.vpc, spec.balancer, to)
	}
	t := &target{targetSpec: spec, dial: dial, clock: o.Clock, interval: o.HealthInterval, drain: o.Drain, left: make(chan struct{})}
	t.together, t.part = context.WithCancel(context.Background())
	return t
}

// run checks the target until it is deregistered and its connections have ended or the drain time is over.
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

// check runs one health check. When the target becomes unhealthy, its connections are reset, as in AWS, so that clients do
// not wait.
func (t *target) check(ctx context.Context) {
	well := t.passes(ctx)
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

// hold returns the context that ends a new connection, and the function to call when it has ended.
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

// passes runs the check once.
func (t *target) passes(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if t.targetSpec.check.path != "" {
		return t.answers(ctx)
	}
	conn, err := t.dial(ctx, t.targetSpec.check.address)
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = io.WriteString(conn, t.targetSpec.check.header)
	return err == nil
}

// answers makes an HTTP request. It keeps no connection open, because an open connection would hide a dead server.
func (t *target) answers(ctx context.Context) bool {
	c := t.targetSpec.check
	prober := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := t.dial(ctx, c.address)
		if err == nil {
			_, err = io.WriteString(conn, c.header)
		}
		return conn, err
	}}}
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
