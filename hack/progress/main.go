// Command progress runs `go build` and prints its progress every few seconds: with empty caches, it downloads and compiles
// for minutes.
//
//	go run ./hack/progress [-C DIRECTORY] LABEL [build flags] [packages]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

func main() {
	dir := flag.String("C", "", "directory of the build, in the module of the packages")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: progress [-C DIRECTORY] LABEL [build flags] [packages]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := gobuild.Build(ctx, os.Stderr, flag.Arg(0), *dir, nil, flag.Args()[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
