// The hypershift-operator creates control planes for HostedClusters.
//
// With the name of a subcommand it does one thing instead:
//
//	uninstall-check   fails while there are objects that only the operator can delete
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/logs"
	"github.com/hosted-control-planes/hypershift/internal/memory"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == uninstallCheckCommand {
		exit(uninstallCheck(ctrl.SetupSignalHandler()))
		return
	}
	opts, err := operator.Parse(os.Args[0], os.Args[1:], os.Environ())
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, version.ErrRequested):
		version.Print("hypershift-operator")
		return
	}
	if err == nil {
		logs.Use(opts.Log.Logger(os.Stderr))
		err = run(ctrl.SetupSignalHandler(), opts)
	}
	exit(err)
}

// exit ends the process if something is wrong.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hypershift-operator:", err)
		os.Exit(1)
	}
}

// run returns when ctx ends or something cannot go on.
func run(ctx context.Context, opts operator.Options) error {
	memory.LimitGarbage()
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	deps, err := operator.NewDependencies(opts)
	if err != nil {
		return err
	}
	o, err := operator.New(ctx, cfg, opts, deps)
	if err != nil {
		return err
	}
	if err := o.AddControllers(ctx); err != nil {
		return err
	}
	return o.Start(ctx)
}
