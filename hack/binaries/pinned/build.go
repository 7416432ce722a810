package pinned

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

// job is one build: the missing commands of one module, or its missing tests.
type job struct {
	binaries []binary
	pin      pin
	dir      string // of the results, which exists
	progress io.Writer
	place    string // position, e.g. "[2/3]"
	idle     bool   // of gobuild
}

// title names the binaries. Binaries of another version have it in their names.
func (j job) title() string {
	var names []string
	for _, b := range j.binaries {
		names = append(names, b.name)
	}
	return strings.Join(names, ", ")
}

// expected is how long the build takes on two cores with nothing cached.
func (j job) expected() time.Duration {
	var sum time.Duration
	for _, b := range j.binaries {
		sum += time.Duration(b.seconds) * time.Second
	}
	return sum
}

// label begins the lines of the build. Where steps are shown, it is the name of the step.
func (j job) label() string {
	if _, shows := j.progress.(steps.Reporter); shows {
		return j.pin.dir
	}
	return j.place + " " + j.title()
}

// report prints a line, unless steps are shown.
func (j job) report(format string, args ...any) {
	if _, shows := j.progress.(steps.Reporter); !shows {
		fmt.Fprintf(j.progress, "%s %s\n", j.place, fmt.Sprintf(format, args...))
	}
}

func (j job) build(ctx context.Context) error {
	if err := CheckDisk(j.dir, j.pin.gib); err != nil {
		return fmt.Errorf("building %s: %w", j.title(), err)
	}
	j.report("building %s %s: once per version, about %.0f min on two cores with nothing cached", j.title(), j.pin.version, max(j.expected().Minutes(), 1))
	started := time.Now()

	// The results are renamed atomically: an interrupted build leaves no file under their names.
	unfinished, err := os.MkdirTemp(j.dir, ".unfinished-")
	if err != nil {
		return fmt.Errorf("building %s: %w", j.title(), err)
	}
	defer os.RemoveAll(unfinished)
	spec, err := j.pin.complete(ctx, j.binaries, filepath.Join(unfinished, "patched"))
	if err != nil {
		return err
	}
	spec.Label, spec.Output, spec.Idle = j.label(), unfinished, j.idle
	if err := gobuild.Run(ctx, j.progress, spec); err != nil {
		return err
	}
	for _, b := range j.binaries {
		if err := os.Rename(filepath.Join(unfinished, spec.Executable(b.pkg)), filepath.Join(j.dir, b.fileName())); err != nil {
			return fmt.Errorf("building %s: %w", b.name, err)
		}
	}
	j.report("built %s in %.0f s", j.title(), time.Since(started).Seconds())
	return nil
}

// Builds returns the build of all binaries of each module, without an Output. The sources of patched programs are written to dir.
func Builds(ctx context.Context, dir string) ([]gobuild.Spec, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return nil, err
	}
	s.bin = dir // in which none exists
	_, jobs, err := s.plan(names(s.table))
	if err != nil {
		return nil, err
	}
	var builds []gobuild.Spec
	for _, j := range jobs {
		spec, err := j.pin.complete(ctx, j.binaries, filepath.Join(dir, j.pin.dir))
		if err != nil {
			return nil, err
		}
		spec.Label = j.pin.dir
		builds = append(builds, spec)
	}
	return builds, nil
}

// complete returns the build of binaries of this module. It writes a patched program to dir.
func (p pin) complete(ctx context.Context, binaries []binary, dir string) (gobuild.Spec, error) {
	spec := p.spec(binaries)
	if !p.patched {
		return spec, nil
	}
	modfile, err := p.patch(ctx, dir)
	spec.Flags = append(spec.Flags, "-modfile="+modfile)
	return spec, err
}

// spec returns the build of binaries of this module. Programs of this repository are built with the same release of Go, flags and
// CGO_ENABLED, so that packages of the same version are compiled once.
func (p pin) spec(binaries []binary) gobuild.Spec {
	spec := gobuild.Spec{
		Dir:   p.path,
		Flags: []string{"-trimpath", "-tags=" + strings.Join(p.tags, ","), "-ldflags=" + p.ldflags(p.version)},
		Env:   append([]string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", toolchain(p.release)}, p.env...),
	}
	for _, b := range binaries {
		spec.Packages = append(spec.Packages, b.pkg)
		spec.Test = b.test // of all of them
	}
	return spec
}
