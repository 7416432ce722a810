package podrunner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

const (
	grace        = 10 * time.Second // between SIGTERM and SIGKILL
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 10 * time.Second
	settled      = 10 * time.Second // a process that lived this long starts again without back-off
)

// container keeps one process running.
type container struct {
	process.Spec
	readiness, liveness *probe
	say                 func(format string, args ...any)
	notify              func()

	ready atomic.Bool
	mu    sync.Mutex
	alive *process.Process
}

// run starts the process again whenever it ends, until ctx ends.
func (c *container) run(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		started := time.Now()
		c.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > settled {
			backoff = firstBackoff
		}
		again := time.NewTimer(backoff)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// runOnce runs the process until it ends or is told to.
func (c *container) runOnce(ctx context.Context) {
	p, err := process.Start(c.Spec)
	if err != nil {
		c.say("%s: %v", c.Name, err)
		return
	}
	c.say("%s started (pid %d)", c.Name, p.PID())
	c.set(p)
	defer c.set(nil)

	probes, stopProbes := context.WithCancel(ctx)
	defer stopProbes()
	sick := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { c.readiness.watch(probes, c.setReady) })
	wg.Go(func() { c.liveness.untilSick(probes, func() { close(sick) }) })
	defer wg.Wait()
	defer stopProbes()

	select {
	case <-p.Done():
		c.say("%s ended (%v), log %s", c.Name, p.Err(), c.Log)
	case <-sick:
		c.say("%s failed its liveness probe and is restarted, log %s", c.Name, c.Log)
		p.Stop(grace)
	case <-ctx.Done():
		p.Stop(grace)
		c.say("%s stopped", c.Name)
	}
	stopProbes()
	wg.Wait()
	c.setReady(false)
}

func (c *container) set(p *process.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive = p
}

func (c *container) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive != nil {
		c.alive.Kill()
	}
}

func (c *container) setReady(ready bool) {
	if c.ready.Swap(ready) != ready {
		c.notify()
	}
}

// notify asks for a new look at a Deployment, whose status follows its processes.
func (r *Runner) notify(d *appsv1.Deployment) {
	select {
	case r.wake <- event.TypedGenericEvent[*appsv1.Deployment]{Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}}:
	default: // stopping: nobody reads any more
	}
}
