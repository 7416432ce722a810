// Command binaries builds the third-party servers of the test environments, once per pinned version, into the cache
// directory:
//
//	go run ./hack/binaries                   # all of them
//	go run ./hack/binaries etcd kube-apiserver
//
// It prints the path of each. Existing binaries are not built again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	names := os.Args[1:]
	if len(names) == 0 {
		names = pinned.Names()
	}
	paths, err := pinned.Ensure(ctx, os.Stderr, names...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		fmt.Println(paths[name])
	}
}
