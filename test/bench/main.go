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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// section measures some rows of the table.
type section struct {
	name string
	// bed says whether it needs a management cluster; measure gets its kubeconfig.
	bed     bool
	measure func(ctx context.Context, kubeconfig string) ([]Row, error)
}

var sections = []section{
	{"one cluster", true, oneCluster},
	{"at rest", false, atRest},
	{"1,000 services", true, thousand},
	{"200 HostedClusters", true, hostedClusters},
	{"restart with 1,000 HostedClusters", true, restart},
	{"hosted control planes, one after the other", false, onLab(hostedControlPlaneLives)},
	{"hosted control planes, one at rest", false, onLab(hostedControlPlaneAtRest)},
	{"hosted control planes, many at once", false, onLab(hostedControlPlanesAtOnce)},
}

func tasks() map[string]task {
	return map[string]task{
		"one-cluster":      oneClusterTask,
		"cluster-at-rest":  clusterAtRestTask,
		"operator-at-rest": operatorAtRestTask,
		"thousand":         thousandTask,
		"thousand-fake":    thousandFakeTask,
		"thousand-at-rest": thousandAtRestTask,
		"hosted-clusters":  hostedClustersTask,
		"touch":            touchTask,
		"fleet":            fleetTask,
		"restart":          restartTask,
		"fleet-at-rest":    fleetAtRestTask,
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The logs of operators cost what they cost in production; they end in the log of the task.
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if was, err := asTask(ctx); was {
		exit(err)
	}
	markdown := flag.Bool("markdown", false, "print the table as Markdown")
	only := flag.String("only", "", "measure the sections with this in their name only")
	cpuprofile := flag.String("cpuprofile", "", "leave a CPU profile of each measured process in this directory")
	memprofile := flag.String("memprofile", "", "leave a heap profile of each process whose memory is measured in this directory")
	flag.Parse()
	if err := errors.Join(os.Setenv(cpuProfiles, *cpuprofile), os.Setenv(heapProfiles, *memprofile)); err != nil {
		exit(err)
	}
	exit(run(ctx, *only, *markdown))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures one section after the other: they share the machine.
func run(ctx context.Context, only string, markdown bool) error {
	if err := fixture.Prepare(ctx, os.Stderr); err != nil {
		return err
	}
	var rows []Row
	var failed []string
	for _, s := range sections {
		if !strings.Contains(s.name, only) {
			continue
		}
		began := time.Now()
		got, err := s.run(ctx)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", s.name, err))
			got = append(got, Row{What: s.name, Figures: []Figure{{}}, Note: "failed, see below"})
		}
		rows = append(rows, got...)
		fmt.Fprintf(os.Stderr, "%s: measured in %.0f s\n", s.name, time.Since(began).Seconds())
	}
	print := printText
	if markdown {
		print = printMarkdown
	}
	print(os.Stdout, rows)
	if failed != nil {
		return fmt.Errorf("could not be measured:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}
