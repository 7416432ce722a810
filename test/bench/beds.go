package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/bed"
)

// beds starts management clusters, a new one for each section: an operator
// watches everything that is there.
type beds struct{ crds []string }

func (b *beds) prepare(ctx context.Context) (err error) {
	if err := bed.Prepare(ctx, os.Stderr); err != nil {
		return err
	}
	b.crds, err = bed.DefaultCRDs()
	return err
}

func (b *beds) start(ctx context.Context) (*bed.Bed, error) {
	return bed.Start(ctx, bed.Options{CRDs: b.crds})
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// until asks again and again.
func until(ctx context.Context, patience time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it had not come about after %s", patience))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
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
