// Package wait holds a pod back until what its program needs is there. A program
// that exits for want of it would be started again after pauses that grow to
// minutes.
//
//	--kubeconfig   the API server that it names says of itself that it is ready
//	--url          so says whoever answers there; tcp://host:port, that somebody does
//
// It says nothing while it waits: how long that takes is no news, and what it
// waits for has a condition of its own.
package wait

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
		c, err := trusting(caFile)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return get(ctx, c, u.String()) }, nil
	}
	return nil, fmt.Errorf("--url is %s: it must begin with https:// or tcp://", target)
}

// askAPIServer asks as who the kubeconfig says: an API server need not answer
// strangers.
func askAPIServer(kubeconfig, target string) (func(context.Context) error, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("using %s: %w", kubeconfig, err)
	}
	if target == "" {
		target = cfg.Host + "/readyz"
	}
	return func(ctx context.Context) error { return get(ctx, c, target) }, nil
}

func trusting(caFile string) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		text, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("reading --ca-file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", caFile)
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, nil
}

func dial(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func get(ctx context.Context, c *http.Client, target string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, resp.Status)
	}
	return nil
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
