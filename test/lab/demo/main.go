package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
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
	if err := run(ctx, *machines, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, machines int, keep bool) (err error) {
	if err := pinned.CheckFirstRun(); err != nil {
		return err
	}
	options := hosting.Options{Lab: cluster.Options{Machines: machines}, ControlPlanesFirst: true}
	shown, err := builds(options)
	if err != nil {
		return err
	}
	defer shown.Clear()
	s := &show{Screen: shown, began: time.Now(), seen: map[string]map[string]string{}}
	options.Progress = lines{s}
	s.phase("Start a management cluster with %d machines and AWS, and install hypershift with Helm.", machines)
	if s.hosting, err = hosting.Start(ctx, options); err != nil {
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
	phases := []func(context.Context) error{s.connect, s.create, s.use, s.createRest, s.work, s.upgrade, s.describe}
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

// builds shows how far the builds are that are missing.
func builds(o hosting.Options) (*screen.Screen, error) {
	missing, err := o.Steps()
	if err != nil {
		return nil, err
	}
	shown, err := screen.On(os.Stdout, missing...)
	if err != nil {
		return nil, err
	}
	if n := shown.Count(); n > 0 {
		fmt.Fprintf(shown, "Programs and root file systems are built in %d steps, once on this machine. A bundle saves that: docs/getting-started.md.\n", n)
	}
	return shown, nil
}

// show runs the demo and prints its events.
type show struct {
	*screen.Screen
	hosting *hosting.Hosting
	clusters
	began time.Time
	// seen are the pods of each cluster that were printed last.
	seen map[string]map[string]string
}

// phase prints the headline of a phase.
func (s *show) phase(format string, args ...any) {
	fmt.Fprintf(s, "\n%s\n", fmt.Sprintf(format, args...))
}

// report prints a line with the time.
func (s *show) report(format string, args ...any) {
	fmt.Fprintf(s, "%7.1f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// lines prints the output of the lab with the time, and shows the steps of its builds.
type lines struct{ *show }

func (l lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		l.report("· %s", strings.TrimSpace(line))
	}
	return len(text), nil
}

// printHints prints commands with which a user inspects the result.
func (s *show) printHints() {
	fmt.Fprintf(s, `
The lab keeps running. Three things to try, with

  export KUBECONFIG=%[1]s

  bin/hypershift describe cluster %[3]s -n %[4]s            # make build
  bin/hypershift console                                     # the same in a browser, live
  kubectl --kubeconfig %[2]s get nodes,pods -A

bin/lab machine kill m2 shows the recovery, and make lab-down removes everything. docs/getting-started.md has more.
`, s.hosting.Kubeconfig, s.one.kubeconfig, s.one.Name, s.one.Namespace)
}
