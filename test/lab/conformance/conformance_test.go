package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/conformance/report"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

func TestFlags(t *testing.T) {
	o, page, err := parse([]string{"-quick", "-focus", "Pods", "-zones", "3", "-version", "v" + images.Versions[1]})
	if err != nil || page || o.version != images.Versions[1] || o.workers != 3 || !o.selection.Quick || o.selection.Focus == nil {
		t.Errorf("got %+v, %v, %v", o, page, err)
	}
	if o, _, err := parse(nil); err != nil || o.version != images.Versions[0] || o.workers != 2 || o.zones != 1 || o.selection != (report.Selection{}) ||
		o.availability != hyperv1.SingleReplica || o.access != hyperv1.PublicAndPrivate || o.during.name != "" {
		t.Errorf("the defaults are %+v, %v", o, err)
	}
	o, _, err = parse([]string{"-highly-available", "-private", "-during", "deaths"})
	if err != nil || o.availability != hyperv1.HighlyAvailable || o.access != hyperv1.Private || len(o.during.events) != 3 {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, _, err := parse([]string{"-version", images.Versions[1], "-during", "upgrade"}); err != nil || !o.during.once {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, _, err := parse([]string{"-beyond", "-objects", "100", "-quick", "-highly-available", "-during", "rotation", "-private"}); err != nil || !o.beyond || o.clusters != 100 {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, wrong := range [][]string{{"-version", "1.2.3"}, {"-focus", "("}, {"-zones", "0"}, {"-zones", "4"}, {"-processes", "0"}, {"unknown"},
		{"-during", "peace"}, {"-during", "deaths"}, {"-during", "rotation"}, {"-during", "upgrade"}, {"-objects", "-1"}} {
		if _, _, err := parse(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestSpecsAreDividedIntoParallelAndSerialOnes(t *testing.T) {
	const one, other, alone = "[sig-node] one [Conformance]", "[sig-apps] other [Conformance]", "[sig-node] alone [Serial] [Conformance]"
	o := options{processes: 4}
	for name, c := range map[string]struct {
		selection report.Selection
		wanted    []string
		want      []part
	}{
		"both": {wanted: []string{one, other, alone}, want: []part{
			{name: "parallel", processes: 4, filter: "Conformance && !Serial", specs: 2}, {name: "serial", processes: 1, filter: "Conformance && Serial", specs: 1},
		}},
		"quick": {selection: report.Selection{Quick: true}, wanted: []string{other}, want: []part{
			{name: "parallel", processes: 4, filter: "Conformance && !Serial && !Slow", focus: report.QuickFocus, specs: 1},
		}},
		"only serial ones": {selection: report.Selection{Focus: regexp.MustCompile("alone")}, wanted: []string{alone}, want: []part{
			{name: "serial", processes: 1, filter: "Conformance && Serial", focus: "alone", specs: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.selection = c.selection
			if got := parts(o, plan{wanted: c.wanted}); !slices.Equal(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestSpecsBeyondConformanceRunInOnePart(t *testing.T) {
	o := options{processes: 4, beyond: true, selection: report.Selection{Quick: true, Focus: regexp.MustCompile("one")}}
	got := parts(o, plan{wanted: []string{"[sig-node] one"}, skip: "two|three"})
	want := []part{{name: "beyond", processes: 4, filter: report.BeyondFilter, focus: "one", skip: "two|three", specs: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// e2eTest is a stand-in that lists two specs and a third spec, which the filter does not select, or fails.
const e2eTest = `#!/bin/sh
for a in "$@"; do case $a in --ginkgo.json-report=*) json=${a#*=} ;; --ginkgo.dry-run) dry=1 ;; --ginkgo.label-filter=*) filter=${a#*=} ;; esac; done
[ "$dry" ] && [ "$filter" = "$FILTER" ] || { echo "unknown flag"; exit 1; }
printf '%s' "$REPORT" >"$json"
`

func TestDryRunListsTheSpecsThatTheFilterSelects(t *testing.T) {
	program := filepath.Join(t.TempDir(), "e2e.test")
	if err := os.WriteFile(program, []byte(e2eTest), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FILTER", report.BeyondFilter)
	t.Setenv("REPORT", `[{"SpecReports": [
		{"LeafNodeType": "It", "LeafNodeText": "[sig-node] one", "State": "passed"},
		{"LeafNodeType": "It", "LeafNodeText": "[sig-node] two [Serial]", "State": "skipped"},
		{"LeafNodeType": "ReportAfterSuite", "State": "passed"},
		{"ContainerHierarchyTexts": ["[sig-cli]"], "LeafNodeType": "It", "LeafNodeText": "three", "State": "passed"}
	]}]`)
	got, err := dryRun(t.Context(), program, t.TempDir())
	if want := []string{"[sig-node] one", "[sig-cli] three"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	t.Setenv("FILTER", "another")
	if _, err := dryRun(t.Context(), program, t.TempDir()); err == nil || !strings.Contains(err.Error(), "unknown flag") {
		t.Errorf("the error of a dry run that failed is %v", err)
	}
}

func TestFailureBeyondConformanceNeedsAnExplanation(t *testing.T) {
	const spec = "[sig-node] one"
	conclude := func() (string, error) {
		var out strings.Builder
		r := &run{options: options{beyond: true, dir: t.TempDir()}, out: &out}
		result := &report.Report{Beyond: true, Specs: []report.Spec{{Name: spec, State: report.Failed, Message: "timed out\nmore"}}}
		err := r.conclude(result)
		if written, readErr := report.Read(filepath.Join(r.dir, "conformance.json")); readErr != nil || len(written.Specs) != 1 {
			t.Errorf("the report is %+v, %v", written, readErr)
		}
		return out.String(), err
	}
	known := report.Explanations
	t.Cleanup(func() { report.Explanations = known })
	report.Explanations = nil
	if _, err := conclude(); err == nil || !strings.Contains(err.Error(), "failed: "+spec+": timed out") {
		t.Errorf("without an explanation, the error is %v", err)
	}
	report.Explanations = []report.Explanation{{Specs: []string{spec}, Reason: "The nodes have no disk."}}
	if out, err := conclude(); err != nil || !strings.Contains(out, "failed, explained: "+spec+": The nodes have no disk.\n") {
		t.Errorf("with an explanation, the error is %v, and the output\n%s", err, out)
	}
}

func TestFollowerCountsAndNamesSpecs(t *testing.T) {
	var log, reported strings.Builder
	f := &follower{log: &log, name: "parallel", total: 4, began: time.Now(), report: func(format string, args ...any) {
		fmt.Fprintf(&reported, format+"\n", args...)
	}}
	const output = "SSSS\n------------------------------\n• [1.250 seconds]\n[sig-node] Pods should run [Conformance]\n/file.go:1\n" +
		"• [0.001 seconds] is in the middle • [1 seconds]\n  • [2.000 seconds]\n" +
		"------------------------------\n• [FAILED] [12.345 seconds]\n\n[sig-node] Pods [It] should end [Conformance] [sig-node, Conformance]\n/file.go:2\n" +
		"↺ [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [3.000 seconds]\n[sig-apps] Jobs should run [Conformance] [sig-apps, Conformance]\n/file.go:3\nS [SKIPPED] [0.1 seconds]\n"
	// Pieces end anywhere.
	for piece := range slices.Chunk([]byte(output), 7) {
		if _, err := f.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	f.count()
	const want = "FAILED: [sig-node] Pods should end [Conformance]\nFAILED ONCE: [sig-apps] Jobs should run [Conformance]\nparallel: 3 of 4 specs passed, 1 failed, 1 skipped themselves, after 0s\n"
	if reported.String() != want || log.String() != output {
		t.Errorf("reported\n%swant\n%sThe log is %q", reported.String(), want, log.String())
	}
	if !strings.HasSuffix(f.tail(), "S [SKIPPED] [0.1 seconds]") {
		t.Errorf("the last lines are %q", f.tail())
	}
}

func TestHostsFileHasTheNamesOfTheAPIServer(t *testing.T) {
	got := hostsFile("127.0.0.1 localhost", map[string]string{"b.example.test": "10.0.0.2", "a.example.test": "10.0.0.1"})
	if want := "127.0.0.1 localhost\n10.0.0.1 a.example.test\n10.0.0.2 b.example.test\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The file of hosts must never be mounted where others see it.
func TestHostsAreNotMountedInANamespaceThatIsShared(t *testing.T) {
	if err := mustNotShareMounts(); err == nil {
		t.Error("the mount namespace of the parent is accepted")
	}
}

func TestWorkersAreDistributedOverZones(t *testing.T) {
	customer := &accounts.Customer{Customer: &awsemulator.Customer{Subnets: []awsemulator.Subnet{{ID: "a"}, {ID: "b"}, {ID: "c"}}}, Variables: map[string]string{}}
	for _, c := range []struct {
		workers, zones int
		want           []string
	}{{2, 1, []string{"a 2"}}, {3, 3, []string{"a 1", "b 1", "c 1"}}, {5, 2, []string{"a 3", "b 2"}}} {
		var got []string
		for _, pool := range pools(options{workers: c.workers, zones: c.zones}, customer) {
			got = append(got, fmt.Sprint(*pool.Spec.Platform.AWS.Subnet.ID, " ", *pool.Spec.Replicas))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d workers in %d zones are %q, want %q", c.workers, c.zones, got, c.want)
		}
	}
}

func TestSuiteWaitsForNodesAndPods(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taints ...corev1.Taint) corev1.Node {
		return corev1.Node{Spec: corev1.NodeSpec{Taints: taints}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	pod := func(ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	}
	for name, c := range map[string]struct {
		nodes []corev1.Node
		pods  []corev1.Pod
		ready bool
	}{
		"all are ready":             {nodes: []corev1.Node{node("True"), node("True")}, pods: []corev1.Pod{pod("True")}, ready: true},
		"a node is missing":         {nodes: []corev1.Node{node("True")}},
		"a node is not ready":       {nodes: []corev1.Node{node("True"), node("Unknown")}},
		"a node has a taint":        {nodes: []corev1.Node{node("True"), node("True", corev1.Taint{Key: "uninitialized"})}},
		"a system pod is not ready": {nodes: []corev1.Node{node("True"), node("True")}, pods: []corev1.Pod{pod("False")}},
	} {
		if err := ready(c.nodes, c.pods, 2); (err == nil) != c.ready {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommittedReportsAreSummaries(t *testing.T) {
	committed, err := os.ReadDir("results")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("results")); err != nil {
		t.Fatal(err)
	}
	if err := report.SummarizeAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, file := range committed {
		got, gotErr := os.ReadFile(filepath.Join("results", file.Name()))
		want, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err := errors.Join(gotErr, err); err != nil || !bytes.Equal(got, want) {
			t.Errorf("results/%s is no summary (%v): run go -C test/lab run ./conformance -page", file.Name(), err)
		}
	}
}

// docs/conformance.md is generated from the committed reports.
func TestPageIsUpToDate(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	reports, err := report.ReadAll("results", images.Versions)
	if err != nil {
		t.Fatal(err)
	}
	others, err := report.ReadOthers("results", images.Versions, report.Explanations)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil || string(page) != report.Page(images.Versions, reports, others) {
		t.Errorf("docs/conformance.md is not up to date (%v): run go -C test/lab run ./conformance -page", err)
	}
}
