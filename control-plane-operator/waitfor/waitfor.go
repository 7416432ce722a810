// Package waitfor holds a pod back until what its program needs is there. A program
// that exits for want of it would be started again after pauses that grow to
// minutes.
//
//	--kubeconfig   the API server that it names says of itself that it is ready
//	--url          so says whoever answers there; tcp://host:port, that somebody does
//
// It says nothing while it waits: how long that takes is no news, and what it
// waits for has a condition of its own.
package waitfor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"time"

	"k8s.io/utils/clock"
)

// Command is the name of the subcommand.
const Command = "wait"

const (
	// shortest is between the first two questions: what it costs is small, and
	// the start of a control plane waits for it. What takes long may take a
	// little longer: a question is some look-ups of a name, too.
	shortest, longest = 200 * time.Millisecond, time.Second
	// patience is how long one question may take.
	patience = 5 * time.Second
)

// Waiter asks one question until the answer is yes.
type Waiter struct {
	// Ask returns nil when there is nothing to wait for any more.
	Ask   func(context.Context) error
	Clock clock.Clock
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Waiter, error) {
	var kubeconfig, target, caFile string
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&kubeconfig, "kubeconfig", "", "file that names the API server to wait for, and as whom to ask it")
	fs.StringVar(&target, "url", "", "whom to wait for: https://host:port/path, or tcp://host:port; with --kubeconfig, another place of the same API server")
	fs.StringVar(&caFile, "ca-file", "", "file with the certificate authorities to trust, if there is no kubeconfig")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if kubeconfig == "" && target == "" {
		return nil, errors.New("neither --kubeconfig nor --url is given")
	}
	ask, err := question(kubeconfig, target, caFile)
	if err != nil {
		return nil, err
	}
	return &Waiter{Ask: ask, Clock: clock.RealClock{}}, nil
}

func question(kubeconfig, target, caFile string) (func(context.Context) error, error) {
	if kubeconfig != "" {
		return askAPIServer(kubeconfig, target)
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	switch u.Scheme {
	case "tcp":
		return func(ctx context.Context) error { return dial(ctx, u.Host) }, nil
	case "https":
		return askURL(u.String(), caFile)
	}
	return nil, fmt.Errorf("--url is %s: it must begin with https:// or tcp://", target)
}

// Run returns when the answer is yes, or ctx ends: then with what stood in the
// way last.
func (w *Waiter) Run(ctx context.Context) error {
	for pause := shortest; ; pause = min(pause*11/10, longest) {
		err := w.ask(ctx)
		if err == nil {
			return nil
		}
		timer := w.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (w *Waiter) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return w.Ask(ctx)
}
