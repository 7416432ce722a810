// Command progress runs `go build` and prints its progress every few seconds: with empty caches, it downloads and compiles
// for minutes.
//
//	go run ./hack/progress LABEL [build flags] [packages]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: progress LABEL [build flags] [packages]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := gobuild.Build(ctx, os.Stderr, os.Args[1], "", nil, os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
