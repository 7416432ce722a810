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
	s := &show{out: out, began: time.Now(), seen: map[string]map[string]string{}}
	s.act("A management cluster with %d machines, AWS behind it, and hypershift, installed with Helm.", machines)
	s.hosting, err = hosting.Start(ctx, hosting.Options{Lab: cluster.Options{Machines: machines}, Progress: s})
	if err != nil {
		return err
	}
	s.say("helm install %s config/helm/hypershift -n %s", hosting.Release, hosting.Namespace)
	defer func() {
		if err != nil && ctx.Err() == nil { // on Ctrl-C nobody asks why
			err = fmt.Errorf("%w\n\neverything is still up; to look around: go run ./test/lab status; to remove it: go run ./test/lab down", err)
			return
		}
		if err == nil && keep {
			return
		}
		err = errors.Join(err, s.hosting.Stop(context.WithoutCancel(ctx)))
		if err == nil {
			s.act("Hypershift is uninstalled and the lab is down: nothing is left on this machine but a cache.")
		}
	}()
	acts := []func(context.Context) error{s.connect, s.create, s.use, s.work, s.upgrade}
	if !keep {
		acts = append(acts, s.end)
	}
	for _, act := range acts {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if keep {
		s.lookAround()
	}
	return nil
}

// show is the story and who tells it.
type show struct {
	hosting *hosting.Hosting
	stage
	out   io.Writer
	began time.Time
	// seen are the pods of each cluster as they were told last.
	seen map[string]map[string]string
}

// act prints the headline of an act.
func (s *show) act(format string, args ...any) {
	fmt.Fprintf(s.out, "\n%s\n", fmt.Sprintf(format, args...))
}

// say prints a line of the story.
func (s *show) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.1f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// Write takes what the lab says of itself, line by line.
func (s *show) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		s.say("· %s", strings.TrimSpace(line))
	}
	return len(text), nil
}

// lookAround says how to see for oneself.
func (s *show) lookAround() {
	fmt.Fprintf(s.out, `
Everything stays up.

  export KUBECONFIG=%[1]s
  kubectl get hostedcluster,controlplanecomponent -A
  kubectl get pods -A -o wide
  kubectl --kubeconfig %[2]s get nodes,pods -A      # a hosted cluster
  go run ./test/lab status
  go run ./test/lab machine kill m2      # and watch what happens
  go run ./test/lab down
`, s.hosting.Kubeconfig, s.one.kubeconfig)
}
