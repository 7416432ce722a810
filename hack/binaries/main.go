// Command binaries builds the third-party servers of the test environments, once per pinned version, into the cache
// directory:
//
//	go run ./hack/binaries                   # all of them
//	go run ./hack/binaries etcd kube-apiserver
//	go run ./hack/binaries -except karpenter,cyclonus
//
// It prints the path of each. Existing binaries are not built again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	except := flag.String("except", "", "names, separated by commas, of programs that are not built")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = pinned.Names()
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(strings.Split(*except, ","), name) })
	paths, err := pinned.Ensure(ctx, os.Stderr, names...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		fmt.Println(paths[name])
	}
}
