// The hypershift-operator makes control planes for HostedClusters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/intern"
	"github.com/hosted-control-planes/hypershift/internal/logs"
)

func main() {
	opts, err := parse(os.Args[0], os.Args[1:], os.Getenv)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		logs.Use(opts.log.Logger(os.Stderr))
		err = run(ctrl.SetupSignalHandler(), opts.Options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hypershift-operator:", err)
		os.Exit(1)
	}
}

// run returns when ctx ends or something cannot go on.
func run(ctx context.Context, opts operator.Options) error {
	intern.Collect()
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	o, err := operator.New(ctx, cfg, opts)
	if err != nil {
		return err
	}
	if err := o.AddControllers(ctx); err != nil {
		return err
	}
	return o.Start(ctx)
}
