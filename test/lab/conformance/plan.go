package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/conformance/report"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// plan holds the specs to run.
type plan struct {
	// wanted are the names of the specs.
	wanted []string
	// leftOut are groups of specs that do not run, and skip is a pattern of their names.
	leftOut []report.LeftOut
	skip    string
}

// plan selects specs.
func (r *run) plan(ctx context.Context) (plan, error) {
	list, err := r.list(ctx)
	if err != nil {
		return plan{}, err
	}
	p := plan{wanted: r.selection.Of(list)}
	if r.beyond {
		p.wanted, p.leftOut, p.skip = report.Beyond(list, r.selection)
	}
	p.wanted = r.during.without(p.wanted)
	if len(p.wanted) == 0 {
		return p, fmt.Errorf("none of the %d specs is selected", len(list))
	}
	r.report("Kubernetes %s: %d of the %d specs are selected", r.version, len(p.wanted), len(list))
	return p, nil
}

// list returns the names of the conformance tests, or of the specs beyond them, which are in no document.
func (r *run) list(ctx context.Context) ([]string, error) {
	name := images.ConformanceProgram("e2e.test", r.version)
	if !r.beyond {
		source, err := pinned.Source(ctx, name)
		if err != nil {
			return nil, err
		}
		return report.ReadList(source)
	}
	paths, err := pinned.Ensure(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return dryRun(ctx, paths[name], r.dir)
}

// dryRun lists the specs of the tests beyond the conformance tests. They need no cluster for that.
func dryRun(ctx context.Context, program, dir string) ([]string, error) {
	file := filepath.Join(dir, "list.json")
	// The report of an earlier run.
	if err := unlessMissing(os.Remove(file)); err != nil {
		return nil, fmt.Errorf("listing the specs: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "--ginkgo.dry-run", "--ginkgo.no-color", "--ginkgo.label-filter="+report.BeyondFilter,
		"--ginkgo.json-report="+file, "--provider=skeleton")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("listing the specs: %w\n%s", err, out[max(0, len(out)-dryRunTail):])
	}
	text, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("listing the specs: %w", err)
	}
	defer text.Close()
	specs, _, err := report.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("listing the specs: %w", err)
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return names, nil
}

// dryRunTail is how much of the output is shown if a dry run fails.
const dryRunTail = 2000
