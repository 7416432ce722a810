package routerreload

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

const (
	// farewell is how long new connections are still welcome: who sends them
	// here hears of the end of the pod at the same time as we do.
	farewell = 3 * time.Second
	// frontend is where connections come in.
	frontend = "hosts"
)

func (r *Reloader) serveDrain(w http.ResponseWriter, req *http.Request) {
	if err := r.empty(req.Context()); err != nil {
		logr.FromContextOrDiscard(req.Context()).Error(err, "Draining")
	}
	w.WriteHeader(http.StatusOK) // HAProxy ends now in any case
}

// empty returns when the last connection has ended, or time is up.
func (r *Reloader) empty(ctx context.Context) error {
	deadline := r.clock.Now().Add(r.drain)
	r.sleep(ctx, farewell)
	if _, err := r.master.say(ctx, worker+" shutdown frontend "+frontend); err != nil {
		return err
	}
	for r.clock.Now().Before(deadline) && ctx.Err() == nil {
		n, err := r.master.connections(ctx)
		if err != nil || n == 0 {
			return err
		}
		r.sleep(ctx, farewell/10)
	}
	return nil
}

func (r *Reloader) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-r.clock.After(d):
	}
}
