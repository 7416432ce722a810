// Command hypershift creates and deletes the AWS resources of hosted clusters. As hcp it offers the same commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once; the next run resumes.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, filepath.Base(os.Args[0]), os.Args[1:], operation.System()))
}
