// Package waitfor blocks the start of a component until a server that it needs is ready. Without it the component would
// exit, and the kubelet restarts a container with a back-off that grows to minutes.
//
//	--kubeconfig   waits until /readyz of the API server succeeds
//	--url          https: waits for status 200; tcp://host:port: waits for a connection
//	--install      first copies this program into a volume, for the container that starts next
//
// It does not log while it waits: the server's state is reported in its own condition.
package waitfor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"time"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/selfcopy"
)

// Command is the name of the subcommand.
const Command = "wait"

const (
	// minInterval and maxInterval bound the back-off between checks. The start of a control plane depends on the first checks, also
	// after the ten seconds in which a volume is attached: the interval doubles in ten seconds. Later ones are rarer, because each costs
	// DNS lookups.
	minInterval, maxInterval = 200 * time.Millisecond, time.Second
	// checkTimeout bounds one check.
	checkTimeout = 5 * time.Second
)

// Waiter repeats a check until it succeeds.
type Waiter struct {
	// Install is the path of a copy of this program. Empty means no copy.
	Install string
	// Check returns nil when the server is ready.
	Check func(context.Context) error
	Clock clock.Clock
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Waiter, error) {
	var kubeconfig, target, caFile, install string
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server to wait for")
	fs.StringVar(&target, "url", "", "server to wait for: https://host:port/path, or tcp://host:port; with --kubeconfig, another path of that API server")
	fs.StringVar(&caFile, "ca-file", "", "file with the certificate authorities to trust, if there is no kubeconfig")
	fs.StringVar(&install, "install", "", "path of a copy of this program, for another container of the pod; with it, a server is optional")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	w := &Waiter{Check: func(context.Context) error { return nil }, Install: install, Clock: clock.RealClock{}}
	if kubeconfig == "" && target == "" {
		if install == "" {
			return nil, errors.New("none of --kubeconfig, --url and --install is given")
		}
		return w, nil
	}
	var err error
	if w.Check, err = newCheck(kubeconfig, target, caFile); err != nil {
		return nil, err
	}
	return w, nil
}

func newCheck(kubeconfig, target, caFile string) (func(context.Context) error, error) {
	if kubeconfig != "" {
		return checkAPIServer(kubeconfig, target)
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	switch u.Scheme {
	case "tcp":
		return func(ctx context.Context) error { return dial(ctx, u.Host) }, nil
	case "https":
		return checkURL(u.String(), caFile)
	}
	return nil, fmt.Errorf("--url is %s: it must begin with https:// or tcp://", target)
}

// Run returns nil when the check succeeds, or the error of the last check when ctx ends.
func (w *Waiter) Run(ctx context.Context) error {
	if w.Install != "" {
		if err := selfcopy.Install(w.Install); err != nil {
			return err
		}
	}
	for interval := minInterval; ; interval = min(interval*51/50, maxInterval) {
		err := w.check(ctx)
		if err == nil {
			return nil
		}
		timer := w.Clock.NewTimer(interval)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (w *Waiter) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return w.Check(ctx)
}
