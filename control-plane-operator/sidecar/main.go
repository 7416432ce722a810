// The sidecar runs in the pods of control plane components. Each subcommand does one task:
//
//	wait                 blocks until the API server or port that the component needs is ready
//	router-reload        makes HAProxy load changes of its configuration
//	router-drain         closes HAProxy to new connections and waits until the open ones have ended
//	token-minter         keeps a web-identity token for AWS in a file
//	etcd-unpack          unpacks the snapshot that etcd restores from
//	etcd-backup-verify   compares the snapshot of a backup with etcd
//	etcd-backup-upload   uploads it
//	webhook-certificate  writes a certificate for webhooks that no client calls
//	log-relay            runs a program that must not wait for the reader of its log
//	image-registry-gateway             lets users and nodes of a hosted cluster access its image registry
//	image-registry-garbage-collection  runs the garbage collection of the registry, during which the gateways refuse writes
//
// Two flags precede the subcommand: --version prints the version and exits; --profiling=127.0.0.1:6060 serves profiles on loopback.
//
// It is part of the operators' image but imports no Kubernetes library. Each control plane runs several sidecars at all
// times and its start waits for them; a program that links client-go needs three times the memory and ten times as long
// to start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup/upload"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup/verify"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/unpack"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/logrelay"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/routerreload"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokenminter"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/waitfor"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/webhookcertificate"
	"github.com/hosted-control-planes/hypershift/internal/memory"
	"github.com/hosted-control-planes/hypershift/internal/profiling"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	memory.LimitGarbage()
	if err := run(logr.NewContext(ctx, logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil))), os.Args[1:]); err != nil {
		var program *logrelay.ExitError
		if errors.As(err, &program) {
			os.Exit(program.Code) // the last line of the log is the program's
		}
		fmt.Fprintln(os.Stderr, "sidecar:", err)
		os.Exit(1)
	}
}

// A task is one subcommand. It runs until it is done or ctx ends.
type task interface {
	Run(ctx context.Context) error
}

// run parses the arguments and runs the task.
func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("sidecar", flag.ContinueOnError)
	showVersion := version.Bind(fs)
	profiles := fs.String("profiling", "", "address of loopback at which profiles are served, such as "+profiling.Address)
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "usage: sidecar [flags] wait|router-reload|router-drain|token-minter|etcd-unpack|etcd-backup-verify|etcd-backup-upload|webhook-certificate|log-relay|image-registry-gateway|image-registry-garbage-collection [flags of the subcommand]")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *showVersion {
		version.Print("sidecar")
		return nil
	}
	t, err := parse(fs.Args())
	if err != nil {
		return err
	}
	if *profiles != "" {
		at, err := profiling.Serve(*profiles)
		if err != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Info("Serving profiles", "address", at)
	}
	return t.Run(ctx)
}

func parse(args []string) (task, error) {
	if len(args) == 0 {
		return nil, errors.New("a subcommand is needed: wait, router-reload, router-drain, token-minter, etcd-unpack, etcd-backup-verify, etcd-backup-upload, webhook-certificate, log-relay, image-registry-gateway or image-registry-garbage-collection")
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
	case verify.Command:
		return verify.Parse(args)
	case upload.Command:
		return upload.Parse(args)
	case webhookcertificate.Command:
		return webhookcertificate.Parse(args)
	case logrelay.Command:
		return logrelay.Parse(args)
	case imageregistry.GatewayCommand:
		return imageregistry.ParseGateway(args)
	case imageregistry.CollectCommand:
		return imageregistry.ParseCollection(args)
	default:
		return nil, fmt.Errorf("%s is none of wait, router-reload, router-drain, token-minter, etcd-unpack, etcd-backup-verify, etcd-backup-upload, webhook-certificate, log-relay, image-registry-gateway and image-registry-garbage-collection", name)
	}
}
