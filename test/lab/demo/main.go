package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

func main() {
	keep := flag.Bool("keep", false, "leave everything up and say how to look around")
	machines := flag.Int("machines", 3, "how many machines the management cluster has")
	flag.Parse()

	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *machines, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, machines int, keep bool) (err error) {
	if err := pinned.CheckFirstRun(); err != nil {
		return err
	}
	s := &show{out: out, began: time.Now(), seen: map[string]map[string]string{}}
	s.phase("Start a management cluster with %d machines and AWS, and install hypershift with Helm.", machines)
	s.hosting, err = hosting.Start(ctx, hosting.Options{Lab: cluster.Options{Machines: machines}, ControlPlanesFirst: true, Progress: s})
	if err != nil {
		return err
	}
	s.report("helm install %s config/helm/hypershift -n %s", hosting.Release, hosting.Namespace)
	defer func() {
		if err != nil && ctx.Err() == nil { // after Ctrl-C the reason is clear
			err = fmt.Errorf("%w\n\nthe lab still runs. Its state: bin/lab status; to remove it: make lab-down", err)
			return
		}
		if err == nil && keep {
			return
		}
		err = errors.Join(err, s.hosting.Stop(context.WithoutCancel(ctx)))
		if err == nil {
			s.phase("Hypershift is uninstalled and the lab is removed. Only a cache is left on this machine.")
		}
	}()
	phases := []func(context.Context) error{s.connect, s.create, s.use, s.createRest, s.work, s.upgrade}
	if !keep {
		phases = append(phases, s.end)
	}
	for _, phase := range phases {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	if keep {
		s.printHints()
	}
	return nil
}

// show runs the demo and prints its events.
type show struct {
	hosting *hosting.Hosting
	clusters
	out   io.Writer
	began time.Time
	// seen are the pods of each cluster that were printed last.
	seen map[string]map[string]string
}

// phase prints the headline of a phase.
func (s *show) phase(format string, args ...any) {
	fmt.Fprintf(s.out, "\n%s\n", fmt.Sprintf(format, args...))
}

// report prints a line with the time.
func (s *show) report(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.1f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// Write prints the output of the lab line by line.
func (s *show) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		s.report("· %s", strings.TrimSpace(line))
	}
	return len(text), nil
}

// printHints prints commands with which a user inspects the result.
func (s *show) printHints() {
	fmt.Fprintf(s.out, `
The lab keeps running.

  export KUBECONFIG=%[1]s
  kubectl get hostedcluster,controlplanecomponent -A
  kubectl get pods -A -o wide
  kubectl --kubeconfig %[2]s get nodes,pods -A      # a hosted cluster
  bin/lab status
  bin/lab machine kill m2      # and observe the recovery
  make lab-down

docs/getting-started.md has more to try.
`, s.hosting.Kubeconfig, s.one.kubeconfig)
}
