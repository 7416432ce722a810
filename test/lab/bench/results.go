package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// committed is the file of results from which the page is written.
const committed = "test/lab/bench/results/results.json"

// programs are the directories with the measured code.
var programs = []string{"api", "cmd", "config", "control-plane-operator", "hypershift-operator", "internal", "go.mod"}

// begin returns a measurement of the section without rows.
func (s section) begin(ctx context.Context) (report.Measurement, error) {
	root, err := pinned.Root()
	if err != nil {
		return report.Measurement{}, err
	}
	return report.Measurement{
		Section: s.name, Commit: commit(ctx, root), Date: time.Now().UTC().Truncate(time.Second), Machine: machine(), LoadBefore: loadAverage(),
	}, nil
}

// keep adds a measurement to a file of results, so that a later failure does not lose it.
func keep(file string, m report.Measurement) error {
	results, err := report.Read(file)
	if err != nil {
		return err
	}
	results.Add(m)
	if _, err := report.Merge(goals(), results); err != nil {
		return err
	}
	return results.Write(file)
}

// commit is the last commit of this checkout that changed a measured program, with -changed if there are changes that are not
// committed; empty if it is unknown.
func commit(ctx context.Context, root string) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append(append([]string{"-C", root}, args...), append([]string{"--"}, programs...)...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	hash, err := git("log", "-1", "--format=%H")
	if err != nil || hash == "" {
		return ""
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		hash += "-changed"
	}
	return hash
}

// machine describes the machine: cores, processor, memory and kernel.
func machine() string {
	var name unix.Utsname
	kernel := "unknown"
	if err := unix.Uname(&name); err == nil {
		kernel, _, _ = strings.Cut(unix.ByteSliceToString(name.Release[:]), "-")
	}
	var info unix.Sysinfo_t
	memory := 0.0
	if err := unix.Sysinfo(&info); err == nil {
		memory = float64(info.Totalram) * float64(info.Unit) / (1 << 30)
	}
	return fmt.Sprintf("%d cores (%s), %.0f GiB of memory, Linux %s", runtime.NumCPU(), processor(), memory, kernel)
}

// processor is the model of the processors.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// committedResults are the results of the checkout that this program was built from.
func committedResults() (*report.Results, error) {
	root, err := pinned.Root()
	if err != nil {
		return nil, err
	}
	return report.Read(filepath.Join(root, committed))
}

// benchmarksPage is docs/benchmarks.md, from the committed results.
func benchmarksPage(root string) (string, error) {
	results, err := report.Read(filepath.Join(root, committed))
	if err != nil {
		return "", err
	}
	return report.Page(goals(), results)
}

// benchmarksPlot is docs/images/benchmarks.svg, from the committed results.
func benchmarksPlot(root string) (string, error) {
	results, err := report.Read(filepath.Join(root, committed))
	if err != nil {
		return "", err
	}
	return report.Plot(goals(), results)
}

// generated are the files that are made from the results, below the directory docs.
var generated = map[string]func(root string) (string, error){"benchmarks.md": benchmarksPage, filepath.Join("images", "benchmarks.svg"): benchmarksPlot}

// writePage writes docs/benchmarks.md and its plot.
func writePage() error {
	root, err := pinned.Root()
	if err != nil {
		return err
	}
	for name, content := range generated {
		text, err := content(root)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the page: %w", err)
		}
	}
	return nil
}
