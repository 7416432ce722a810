//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/host"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// on is the installation on which all scenarios run.
var on *hosting.Hosting

// values make the operators look for changes in AWS often, so that scenarios need not wait for half an hour.
const values = "periods: {resync: 1m, awsPermissionsCheck: 1m}\nconsole: {enabled: true}\n"

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := cluster.DefaultDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	before, err := host.Look(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, notFound := cluster.Find(ctx, cluster.Options{})
	on, err = hosting.Start(ctx, hosting.Options{Lab: cluster.Options{Machines: 3}, Values: values, PublicNames: true, SharedRouter: true, OlderLater: true, Progress: screen.New(screen.Options{Out: os.Stdout, Times: true})})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// begin limits how many scenarios run. A lower limit of go test would let a scenario wait for another that cannot begin.
	if err := flag.Set("test.parallel", "100"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = on.AWS.Run(m)
	if os.Getenv("HYPERSHIFT_E2E_KEEP") == "true" {
		fmt.Println("the lab keeps running; see: go -C test/lab run . status")
		return code
	}
	if err := on.Stop(context.WithoutCancel(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if notFound == nil {
		return code // an existing lab may have had leftovers before this run
	}
	now, err := host.Look(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, d := range host.Differences(before, now) {
		fmt.Fprintln(os.Stderr, d)
		code = 1
	}
	return code
}
