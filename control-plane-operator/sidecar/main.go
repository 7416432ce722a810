// The sidecar runs in the pod of another program, and does one thing for it:
//
//	wait           holds it back until what it needs is there
//	router-reload  makes HAProxy load changes of its configuration
//	router-drain   closes HAProxy to new connections and waits until the open ones have ended
//	token-minter   keeps a token by which AWS knows it
//	etcd-unpack    unpacks the snapshot that etcd begins with
//
// It is in the image of the operators, and yet no part of them: each control
// plane has several of it, all the time, and starts wait for it. A program that
// knows Kubernetes has three times the memory before it has done anything, and
// starts ten times slower. So this one imports nothing that does.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/unpack"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/routerreload"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokenminter"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/waitfor"
	"github.com/hosted-control-planes/hypershift/internal/dedup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // who is impatient says it twice
	dedup.Collect()
	if err := run(logr.NewContext(ctx, logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil))), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sidecar:", err)
		os.Exit(1)
	}
}

// A task is what one subcommand does, until it is done or ctx ends.
type task interface {
	Run(ctx context.Context) error
}

// run is what the arguments say.
func run(ctx context.Context, args []string) error {
	t, err := parse(args)
	if err != nil {
		return err
	}
	return t.Run(ctx)
}

func parse(args []string) (task, error) {
	if len(args) == 0 {
		return nil, errors.New("a subcommand is needed: wait, router-reload, router-drain, token-minter or etcd-unpack")
	}
	switch name, args := args[0], args[1:]; name {
	case waitfor.Command:
		return waitfor.Parse(args)
	case routerreload.Command:
		return routerreload.Parse(args)
	case routerreload.DrainCommand:
		return routerreload.ParseDrain(args)
	case tokenminter.Command:
		return tokenminter.Parse(args)
	case unpack.Command:
		return unpack.Parse(args)
	default:
		return nil, fmt.Errorf("%s is none of wait, router-reload, router-drain, token-minter and etcd-unpack", name)
	}
}
