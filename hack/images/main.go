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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	names := os.Args[1:]
	if len(names) == 0 {
		names = rootfs.Names()
	}
	for _, name := range names {
		root, err := rootfs.Ensure(ctx, os.Stderr, name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(root)
	}
}
