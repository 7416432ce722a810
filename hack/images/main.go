// Command images builds the root file systems of machines, once per recipe, into the cache directory:
//
//	sudo go run ./hack/images            # all of them
//	sudo go run ./hack/images ignition
//
// It prints the path of each. Existing ones are not built again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/images/rootfs"
	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	names := os.Args[1:]
	if len(names) == 0 {
		names = rootfs.Names()
	}
	if err := ensure(ctx, names); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ensure(ctx context.Context, names []string) error {
	missing, err := rootfs.MissingSteps(names...)
	if err != nil {
		return err
	}
	shown, err := screen.On(os.Stderr, missing...)
	if err != nil {
		return err
	}
	defer shown.Clear()
	var roots []string
	for _, name := range names {
		root, err := rootfs.Ensure(ctx, shown, name)
		if err != nil {
			return err
		}
		roots = append(roots, root)
	}
	shown.Clear()
	for _, root := range roots {
		fmt.Println(root)
	}
	return nil
}
