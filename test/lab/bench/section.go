package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// run measures the section. If needed, it starts a new management cluster, because an operator watches all objects.
func (s section) run(ctx context.Context) (_ []report.Row, err error) {
	if s.on != anAPIServer {
		return s.measure(ctx, "")
	}
	crds, err := fixture.DefaultCRDs()
	if err != nil {
		return nil, err
	}
	cluster, err := fixture.Start(ctx, fixture.Options{CRDs: crds})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	return s.measure(ctx, cluster.Kubeconfig)
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// until polls until done.
func until(ctx context.Context, patience time.Duration, done func(context.Context) (bool, error)) error {
	return poll(ctx, 20*time.Millisecond, patience, done)
}

// untilSeen polls an API server of the lab until done. It looks less often than until, because the answers need CPU of the machine that is measured.
func untilSeen(ctx context.Context, patience time.Duration, done func(context.Context) (bool, error)) error {
	return poll(ctx, 50*time.Millisecond, patience, done)
}

func poll(ctx context.Context, pause, patience time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("timeout after %s", patience))
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		ok, err := done(ctx)
		if ok {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
