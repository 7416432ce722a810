package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// section measures some rows of the table.
type section struct {
	name string
	// on is the required environment; measure gets the kubeconfig of its API server.
	on      ground
	measure func(ctx context.Context, kubeconfig string) ([]report.Row, error)
	// rows are the rows that measure returns, without measurements, and where describes their real parts.
	rows  []report.Row
	where string
}

// ground is the environment of a section.
type ground int

const (
	// nothing: only the process itself.
	nothing ground = iota
	// anAPIServer is an API server for the section alone.
	anAPIServer
	// aLab is a lab that the section starts and removes.
	aLab
)

const (
	onAPIServer = "The API server and both operators' controllers are real; AWS is in memory, with the real SDK."
	inALab      = "Everything except AWS is real: pods in a management cluster of three machines, in a lab on this machine."
)

var sections = []section{
	{"one cluster", anAPIServer, oneCluster, oneClusterRows(nil), onAPIServer},
	{"at rest", nothing, atRest, atRestRows(nil, nil), "Controllers and SDK are real; the clock, the API server and AWS are in memory, so that hours take seconds."},
	{"control-plane-operators at rest", nothing, fleetCalls, fleetCallsRows(nil), "Controllers and SDK are real; the clock, the API servers and AWS are in memory, so that hours take seconds."},
	{"AWS infrastructure", nothing, infrastructure, infrastructureRows(nil), "The graph of the command line and the SDK are real; AWS is the emulator, and each call takes 100 ms more."},
	{"1,000 services", anAPIServer, thousand, thousandRows(nil, nil, cost{}, nil), onAPIServer + " Each call of AWS takes 60 ms."},
	{"200 HostedClusters", anAPIServer, hostedClusters, hostedClustersRows(nil), onAPIServer + " Each call of AWS takes 60 ms."},
	{"200 HostedClusters without node pools", anAPIServer, withoutPools, withoutPoolsRows(nil), onAPIServer + " Each call of AWS takes 60 ms."},
	restart(fleets[0]), restart(fleets[1]), restart(fleets[2]),
	{"etcd and kube-apiserver as processes", nothing, bareProcesses, bareProcessesRows(nil), "Both programs and etcd's disk are real; there is nothing of this project."},
	{"hosted control planes, one after the other", aLab, onLab(hostedControlPlaneLives), hostedControlPlaneLivesRows(&labLives{}), inALab},
	{"hosted control planes, one at rest", aLab, onLab(hostedControlPlaneAtRest), atOnceRows(1), inALab},
	{"hosted control planes, many at once", aLab, onLab(hostedControlPlanesAtOnce), atOnceRows(5, 10), inALab},
	{"highly available at rest", aLab, onLab(highlyAvailableAtRest), highlyAvailableRows(nil), inALab},
	{"node pools", aLab, onLab(nodePools), nodePoolRows(), inALab + " Machines are Linux namespaces that boot the stock images."},
	{"deletion with workers", aLab, onLab(deletionWithWorkers), deletionWithWorkersRows(nil), inALab + " Machines are Linux namespaces that boot the stock images."},
	{"day two", aLab, onLab(dayTwo), dayTwoRows(&dayTwoResult{}), inALab + " The other management cluster is in the same lab, with two machines."},
	{"API under load", aLab, onLab(apiUnderLoad), apiUnderLoadRows(nil), inALab + " The client is on the machine of the lab; it reaches load balancers and pods by the same link."},
	{"under fire", aLab, onLabOf(4, underFire), fireRows(nil), strings.Replace(inALab, "three machines", "four machines in three zones", 1)},
}

// countSections have counts that show within minutes, and without a lab, that a change makes more calls or writes.
var countSections = []string{"one cluster", "at rest", "AWS infrastructure", "200 HostedClusters"}

// named are sections that run only if -only has their name, because they take long.
var named = []section{
	{"soak", anAPIServer, soak, soakRows(nil), onAPIServer + " Each call of AWS takes 60 ms. `bin/bench -only soak` runs for two hours, or for `-duration`."},
	{"large cluster", aLab, onLab(largeCluster), largeClusterRows(nil), inALab + " kwok pretends to be the kubelets of all nodes but one. `bin/bench -only \"large cluster\"` takes about ten minutes."},
	{"cold demo", nothing, coldDemo, coldDemoRows(demoTimes{}), "Everything except AWS is real. `bin/bench -only \"cold demo\"` builds all programs again, in half an hour or more."},
}

// goals are the rows of all sections, without measurements.
func goals() []report.Section {
	var all []report.Section
	for _, s := range append(slices.Clone(sections), named...) {
		all = append(all, report.Section{Name: s.name, Where: s.where, Rows: s.rows})
	}
	return all
}

func tasks() map[string]task {
	return map[string]task{
		"one-cluster":      oneClusterTask,
		"cluster-at-rest":  clusterAtRestTask,
		"operator-at-rest": operatorAtRestTask,
		"infrastructure":   infrastructureTask,
		"thousand":         thousandTask,
		"thousand-fake":    thousandFakeTask,
		"thousand-at-rest": thousandAtRestTask,
		"hosted-clusters":  hostedClustersTask,
		"touch":            touchTask,
		"fleet":            fleetTask,
		"restart":          restartTask,
		"fleet-at-rest":    fleetAtRestTask,
		"touched-pools":    touchedPoolsTask,
		"touch-pools":      touchPoolsTask,
		"fleet-calls":      fleetCallsTask,
		"soak":             soakTask,
	}
}

var (
	timelines  = flag.Bool("timeline", false, "print when each object of a hosted control plane was created, scheduled, started and became ready, and what waited longest; without -only, start one for that")
	eventsFile = flag.String("events", "", "with -timeline, write the observed objects to this file, one per line")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The logs of operators have the same cost as in production; they end up in the log of the task.
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if was, err := asTask(ctx); was {
		exit(err)
	}
	markdown := flag.Bool("markdown", false, "print the table as Markdown")
	only := flag.String("only", "", "measure one section only, by its name or a part that no other has, or several by how their names begin")
	cpuprofile := flag.String("cpuprofile", "", "leave a CPU profile of each measured process in this directory")
	memprofile := flag.String("memprofile", "", "leave a heap profile of each process whose memory is measured in this directory")
	file := flag.String("json", "", "add the results to this file; those of the same sections are replaced")
	counts := flag.Bool("counts", false, "measure only "+strings.Join(countSections, ", ")+", and fail if a count, of calls or writes, is higher than in "+committed)
	page := flag.Bool("page", false, "write docs/benchmarks.md from "+committed+", and do nothing else")
	flag.Parse()
	if *page {
		exit(writePage())
	}
	if err := errors.Join(os.Setenv(cpuProfiles, *cpuprofile), os.Setenv(heapProfiles, *memprofile)); err != nil {
		exit(err)
	}
	chosen, err := selected(*only, *file, *timelines, *counts)
	if err != nil {
		exit(err)
	}
	compared, err := run(ctx, chosen, *file, *markdown)
	if err == nil && *counts {
		err = compared.higherCounts()
	}
	exit(err)
}

// comparison is the result of a comparison with the committed results.
type comparison struct {
	worse []report.Change
	// unknown are the counts that are not in the results.
	unknown []string
	// others are the sections of which only counts could be compared.
	others []string
}

func (c *comparison) add(before *report.Results, m report.Measurement) {
	worse, comparable := before.Compare(m)
	c.worse, c.unknown = append(c.worse, worse...), append(c.unknown, before.NewCounts(m)...)
	if !comparable {
		c.others = append(c.others, m.Section)
	}
}

// higherCounts is an error if a count is higher than in the committed results, or is not there. Times depend on the machine.
func (c comparison) higherCounts() error {
	if c.unknown != nil {
		return fmt.Errorf("%s has no samples of %s: add them with -json", committed, strings.Join(c.unknown, ", "))
	}
	worse := c.worse
	if slices.ContainsFunc(worse, func(c report.Change) bool { return c.After.Count }) {
		return errors.New("the counts above are higher than in " + committed + ": find out why, or commit the new results with the reason")
	}
	return nil
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// choose returns the sections that -only selects: the section of that name, or all sections with names that begin with it, or the
// only section with a name that contains it. A text in several names is rejected: some sections take minutes, and need root and a lab.
func choose(all []section, only string) ([]section, error) {
	var begin, contain []section
	var known, several []string
	for _, s := range all {
		switch {
		case s.name == only:
			return []section{s}, nil
		case strings.HasPrefix(s.name, only):
			begin = append(begin, s)
		case strings.Contains(s.name, only):
			contain = append(contain, s)
			several = append(several, strconv.Quote(s.name))
		}
		known = append(known, strconv.Quote(s.name))
	}
	switch {
	case begin != nil:
		return begin, nil
	case len(contain) == 1:
		return contain, nil
	case contain == nil:
		return nil, fmt.Errorf("no section has the name %q; the sections are %s", only, strings.Join(known, ", "))
	}
	return nil, fmt.Errorf("%q is in the names of several sections: %s", only, strings.Join(several, ", "))
}

// selected returns the sections for these flags. -timeline alone selects a section without goals.
func selected(only, file string, timeline, counts bool) ([]section, error) {
	if counts {
		if only != "" || timeline {
			return nil, errors.New("-counts chooses the sections itself: leave out -only and -timeline")
		}
		var chosen []section
		for _, name := range countSections {
			one, err := choose(sections, name)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, one...)
		}
		return chosen, nil
	}
	if only != "" {
		return choose(append(slices.Clone(sections), named...), only)
	}
	if !timeline {
		return sections, nil
	}
	if file != "" {
		return nil, errors.New("-json together with -timeline needs -only: the start that -timeline alone observes is no section of the results")
	}
	return []section{withTimeline}, nil
}

// run measures one section after the other, because they share the machine. It prints their rows, and compares them with the committed
// results.
func run(ctx context.Context, chosen []section, file string, markdown bool) (compared comparison, err error) {
	before, err := committedResults()
	if err != nil {
		return compared, err
	}
	if slices.ContainsFunc(chosen, func(s section) bool { return s.on == aLab }) {
		// Before anything else is measured.
		if err := lab.MustNotBeUp(lab.Options{}); err != nil {
			return compared, err
		}
	}
	if err := fixture.Prepare(ctx, os.Stderr); err != nil {
		return compared, err
	}
	var rows []report.Row
	var failed []string
	for _, s := range chosen {
		began := time.Now()
		measurement, err := s.begin(ctx)
		if err != nil {
			return compared, err
		}
		got, err := s.run(ctx)
		measurement.Rows = got
		if len(got) > 0 && file != "" { // with an error, these are the rows that could be measured
			if err := keep(file, measurement); err != nil {
				return compared, err
			}
		}
		compared.add(before, measurement)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", s.name, err))
			got = append(got, report.Row{What: s.name, Figures: []report.Figure{{}}, Note: "failed, see below"})
		}
		rows = append(rows, got...)
		fmt.Fprintf(os.Stderr, "%s: measured in %.0f s\n", s.name, time.Since(began).Seconds())
	}
	print := report.PrintText
	if markdown {
		print = report.PrintMarkdown
	}
	print(os.Stdout, rows)
	compared.print(os.Stdout)
	if failed != nil {
		return compared, fmt.Errorf("could not be measured:\n%s", strings.Join(failed, "\n"))
	}
	return compared, nil
}

// print prints what is worse than in the committed results.
func (c comparison) print(w io.Writer) {
	if fmt.Fprintln(w); len(c.worse) == 0 {
		fmt.Fprintln(w, "Nothing is worse than in "+committed+" by more than noise.")
	} else {
		fmt.Fprintln(w, "Worse than in "+committed+" by more than noise:")
		report.PrintChanges(w, c.worse)
	}
	if c.others != nil {
		fmt.Fprintf(w, "Only counts were compared, because the committed results are of another machine, or there are none: %s.\n", strings.Join(c.others, ", "))
	}
}
