package integration

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// program keeps one operator running in this process, like the container of a pod: it restarts after an error and after a
// kill.
type program struct {
	name string
	// config carries the identity of the operator.
	config *rest.Config
	// template is the pod template from which the program was made.
	template corev1.PodTemplateSpec
	// build makes the operator. It runs at each start.
	build func(context.Context, *instance) (ctrl.Manager, error)
	// changed is called after a change of the readiness.
	changed func()

	cancel  context.CancelFunc
	stopped sync.WaitGroup

	mu      sync.Mutex
	current *instance
	ready   bool
}

// instance is one run of a program, from its start to its end.
type instance struct {
	config *rest.Config
	log    logr.Logger
	cancel context.CancelFunc
	killed atomic.Bool
}

const (
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

// run restarts the operator until ctx ends.
func (p *program) run(ctx context.Context) {
	for backoff := firstBackoff; ctx.Err() == nil; backoff = min(2*backoff, maxBackoff) {
		began := time.Now()
		err := p.runOnce(ctx)
		p.setReady(false)
		if ctx.Err() != nil {
			break
		}
		p.log().Info("the operator has ended and is restarted", "error", err)
		if time.Since(began) > maxBackoff {
			backoff = firstBackoff
		}
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
		}
	}
}

func (p *program) log() logr.Logger { return ctrl.Log.WithValues("operator", p.name) }

// runOnce runs the operator once.
func (p *program) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i := &instance{config: rest.CopyConfig(p.config), log: p.log(), cancel: cancel}
	i.config.Wrap(i.transport)
	p.mu.Lock()
	p.current = i
	p.mu.Unlock()
	mgr, err := p.build(ctx, i)
	if err != nil {
		return err
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		if mgr.GetCache().WaitForCacheSync(ctx) && ctx.Err() == nil {
			p.setReady(true)
		}
	})
	return mgr.Start(ctx)
}

// transport fails all requests after the kill: a process that was killed neither writes nor releases its lease.
func (i *instance) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if i.killed.Load() {
			return nil, errors.New("the process was killed")
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// kill ends the operator as SIGKILL would. It reports false if the operator does not run.
func (p *program) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || !p.ready {
		return false
	}
	p.current.killed.Store(true)
	p.current.cancel()
	return true
}

// stop ends the operator for good, with a graceful shutdown.
func (p *program) stop() {
	p.cancel()
	p.stopped.Wait()
}

func (p *program) setReady(ready bool) {
	p.mu.Lock()
	differs := p.ready != ready
	p.ready = ready
	p.mu.Unlock()
	if differs {
		p.changed()
	}
}

func (p *program) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}
