package routerreload

import (
	"context"
	"errors"
	"flag"
	"time"

	"k8s.io/utils/clock"
)

// DrainCommand is the name of the subcommand that the kubelet runs before it stops HAProxy.
const DrainCommand = "router-drain"

const (
	// acceptFor is the time for which new connections are still accepted. Load balancers and nodes observe the end of
	// the pod at the time when the hook starts.
	acceptFor = 3 * time.Second
	// frontend is the HAProxy frontend that accepts client connections.
	frontend = "hosts"
)

// Drainer closes one HAProxy to new connections and waits until the open ones have ended.
type Drainer struct {
	master master
	// timeout is how long connections may take to end.
	timeout time.Duration
	clock   clock.Clock
}

// ParseDrain reads the arguments after the name of the subcommand.
func ParseDrain(args []string) (*Drainer, error) {
	d := &Drainer{clock: clock.RealClock{}}
	fs := flag.NewFlagSet(DrainCommand, flag.ContinueOnError)
	fs.StringVar((*string)(&d.master), "master", "", "the socket of HAProxy's master process")
	fs.DurationVar(&d.timeout, "timeout", 50*time.Second, "how long connections may take to end, less than the pod's termination grace period")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if d.master == "" {
		return nil, errors.New("--master is missing")
	}
	return d, nil
}

// Run returns when the last connection has ended, or the timeout has passed.
func (d *Drainer) Run(ctx context.Context) error {
	deadline := d.clock.Now().Add(d.timeout)
	sleep(ctx, d.clock, acceptFor)
	if err := d.master.disable(ctx, frontend); err != nil {
		return err
	}
	for d.clock.Now().Before(deadline) && ctx.Err() == nil {
		n, err := d.master.connections(ctx)
		if err != nil || n == 0 {
			return err
		}
		sleep(ctx, d.clock, acceptFor/10)
	}
	return nil
}

func sleep(ctx context.Context, clk clock.Clock, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-clk.After(d):
	}
}
