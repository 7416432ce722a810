package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/conformance/report"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// options are the flags.
type options struct {
	version        string
	selection      report.Selection
	workers, zones int
	machines       int
	processes      int
	availability   hyperv1.AvailabilityPolicy
	access         hyperv1.AWSEndpointAccessType
	sharedRouter   bool
	during         disturbance
	beyond         bool
	clusters       int // number of clusters whose objects are made
	dir            string
	keep           bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 3 && os.Args[1] == withHosts {
		exit(becomeWithHosts(os.Args[2], os.Args[3:]))
	}
	o, page, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if page {
		exit(writePage())
	}
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	r := &run{options: o, out: os.Stdout, began: time.Now()}
	exit(r.do(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parse(args []string) (o options, page bool, err error) {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.StringVar(&o.version, "version", "", "version of Kubernetes of the hosted cluster: "+strings.Join(images.Versions, " or ")+" (default: the first)")
	focus := flags.String("focus", "", "run only specs whose names this regular expression matches")
	flags.BoolVar(&o.selection.Quick, "quick", false, "run only specs of "+report.QuickFocus+" that are neither serial nor slow")
	flags.IntVar(&o.workers, "workers", 2, "number of workers; at least one for each zone")
	flags.IntVar(&o.zones, "zones", 1, "number of zones of the workers, up to 3")
	flags.IntVar(&o.machines, "machines", 3, "number of machines of the management cluster, if the lab is started")
	flags.IntVar(&o.processes, "processes", processes(runtime.NumCPU()), "number of processes that run specs in parallel")
	available := flags.Bool("highly-available", false, "use a highly available control plane")
	private := flags.Bool("private", false, "use a cluster whose API server is reached through PrivateLink only")
	flags.BoolVar(&o.sharedRouter, "shared-router", false, "use a cluster that is reached through the shared router of the installation")
	during := flags.String("during", "", "what happens to the control plane while specs run: "+strings.Join(disturbanceNames(), ", "))
	flags.BoolVar(&o.beyond, "beyond", false, "run end-to-end tests beyond the conformance tests; each failure needs an explanation in report/explain.go")
	flags.IntVar(&o.clusters, "objects", 0, fmt.Sprintf("make the API objects of that many small clusters in the hosted cluster before the specs run, %d for each", objectsPerCluster()))
	flags.StringVar(&o.dir, "report", "", "directory for output and reports (default: bin/conformance-VERSION, with -beyond bin/conformance-VERSION-beyond)")
	flags.BoolVar(&o.keep, "keep", false, "keep the lab and the hosted cluster, which the next run uses")
	flags.BoolVar(&page, "page", false, "summarize the reports in test/lab/conformance/results, write docs/conformance.md from them, and do nothing else")
	if err := flags.Parse(args); err != nil {
		return o, page, err
	}
	if flags.NArg() > 0 {
		return o, page, fmt.Errorf("unknown argument %s", flags.Arg(0))
	}
	if o.version == "" {
		o.version = images.Versions[0]
	}
	o.version = strings.TrimPrefix(o.version, "v")
	if !slices.Contains(images.Versions, o.version) {
		return o, page, fmt.Errorf("no hosted cluster has version %s; the versions are %s", o.version, strings.Join(images.Versions, ", "))
	}
	if *focus != "" {
		if o.selection.Focus, err = regexp.Compile(*focus); err != nil {
			return o, page, fmt.Errorf("-focus: %w", err)
		}
	}
	o.availability, o.access = hyperv1.SingleReplica, hyperv1.PublicAndPrivate
	if *available {
		o.availability = hyperv1.HighlyAvailable
	}
	if *private {
		o.access = hyperv1.Private
	}
	if *during != "" {
		if o.during, err = o.checkDuring(*during); err != nil {
			return o, page, fmt.Errorf("-during: %w", err)
		}
	}
	if o.zones < 1 || o.zones > maxZones {
		return o, page, fmt.Errorf("-zones is %d; workers can be in 1 to %d zones", o.zones, maxZones)
	}
	if o.processes < 1 {
		return o, page, fmt.Errorf("-processes is %d", o.processes)
	}
	if o.clusters < 0 {
		return o, page, fmt.Errorf("-objects is %d", o.clusters)
	}
	o.workers = max(o.workers, o.zones)
	return o, page, nil
}

// maxZones is the number of zones of a customer.
const maxZones = 3

// processes is the number of processes for a machine with that many cores. Specs wait most of the time.
func processes(cores int) int { return min(max(4, 2*cores), 16) }

// run is one run of the tests.
type run struct {
	options
	out   io.Writer
	began time.Time

	// paths are the programs by their names in hack/binaries.
	paths map[string]string
	*hosting.Hosting
}

// report prints a line with the time.
func (r *run) report(format string, args ...any) {
	fmt.Fprintf(r.out, "%7.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// Write prints the output of others line by line.
func (r *run) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		r.report("%s", strings.TrimSpace(line))
	}
	return len(text), nil
}

// program is the path of a program of the tests.
func (r *run) program(name string) string { return r.paths[images.ConformanceProgram(name, r.version)] }

func (r *run) do(ctx context.Context) (err error) {
	root, err := pinned.Root()
	if err != nil {
		return err
	}
	if r.dir == "" {
		r.dir = filepath.Join(root, "bin", "conformance-"+r.version)
		if r.beyond {
			r.dir += "-beyond"
		}
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("making the directory of reports: %w", err)
	}
	p, err := r.plan(ctx)
	if err != nil {
		return err
	}
	if r.paths, err = pinned.Ensure(ctx, r, images.ConformancePrograms(r.version)...); err != nil {
		return err
	}
	running := cluster.MustNotBeUp(cluster.Options{}) != nil
	r.Hosting, err = hosting.Start(ctx, hosting.Options{
		Lab: cluster.Options{Machines: r.machines, New: !running}, SharedRouter: r.sharedRouter, PublicNames: r.sharedRouter, OlderLater: true, Progress: r,
	})
	if err != nil {
		return err
	}
	defer func() {
		if r.keep {
			r.report("the lab keeps running; to remove it: make lab-down")
			return
		}
		err = errors.Join(err, r.end(context.WithoutCancel(ctx), running))
	}()
	return r.test(ctx, root, p)
}

// test creates the cluster, runs the wanted specs and compares.
func (r *run) test(ctx context.Context, root string, p plan) error {
	pushed, err := images.PushConformance(ctx, images.Options{Registry: cluster.Registry, Progress: r}, r.version)
	if err != nil {
		return err
	}
	s := &suite{run: r, repositories: pushed.Repositories}
	if s.kubeconfig, s.addresses, err = r.hosted(ctx); err != nil {
		return err
	}
	objects, err := r.makeObjects(ctx)
	if err != nil {
		return err
	}
	result := &report.Report{
		Version: r.version, Commit: commit(ctx, root), Date: time.Now().UTC().Truncate(time.Second), Selection: r.selection.String(),
		Workers: r.workers, Zones: r.zones, Availability: string(r.availability), Access: string(r.access), SharedRouter: r.sharedRouter, During: r.during.name,
		Beyond: r.beyond, LeftOut: p.leftOut, Objects: objects,
	}
	events := noEvents()
	if r.during.name != "" {
		management, err := r.management()
		if err != nil {
			return err
		}
		events = r.disturb(ctx, management)
	}
	began := time.Now()
	for round := 1; round == 1 || events.awaited() && len(result.Problems) == 0; round++ {
		if round > 1 {
			r.report("no event has been completed yet: round %d of the specs begins", round)
			result.Rounds = round
		}
		for _, part := range parts(r.options, p) {
			specs, problems, err := s.do(ctx, part.of(round))
			result.Add(specs, problems)
			if ctx.Err() != nil {
				_, _ = events.stop()
				return context.Cause(ctx)
			}
			if err != nil {
				result.Add(nil, []string{err.Error()})
			}
		}
	}
	if result.Events, err = events.stop(); err != nil {
		result.Add(nil, []string{err.Error()})
	}
	result.Minutes = float64(time.Since(began).Round(6*time.Second)) / float64(time.Minute)
	result.Compare(p.wanted)
	return r.conclude(result)
}

// conclude writes and prints the result. It returns an error that names the specs that did not pass.
func (r *run) conclude(result *report.Report) error {
	if r.beyond {
		result.Explain(report.Explanations)
	}
	file := filepath.Join(r.dir, "conformance.json")
	if err := result.Write(file); err != nil {
		return err
	}
	fmt.Fprintln(r.out)
	if err := result.Print(r.out); err != nil {
		return err
	}
	for i, line := range result.Notes() {
		if i == 0 {
			fmt.Fprintln(r.out)
		}
		fmt.Fprintln(r.out, line)
	}
	fmt.Fprintf(r.out, "\nThe results are in %s, logs and reports of ginkgo beside it.\n", file)
	return result.Err()
}

// commit is the commit of this checkout; empty if it is unknown.
func commit(ctx context.Context, root string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// writePage summarizes the committed reports, and writes docs/conformance.md.
func writePage() error {
	root, err := pinned.Root()
	if err != nil {
		return err
	}
	results := filepath.Join(root, "test", "lab", "conformance", "results")
	if err := report.SummarizeAll(results); err != nil {
		return err
	}
	reports, err := report.ReadAll(results, images.Versions)
	if err != nil {
		return err
	}
	others, err := report.ReadOthers(results, images.Versions, report.Explanations)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "conformance.md"), []byte(report.Page(images.Versions, reports, others)), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
