package pinned

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

// Ensure builds the missing ones of the named binaries and returns the path of each. Progress gets one line per event, and
// one every few seconds while a build runs.
func Ensure(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	s, err := cached(progress)
	if err != nil {
		return nil, err
	}
	return s.ensure(ctx, names)
}

// EnsureIdle is Ensure with the time that other programs leave, for binaries that are needed later.
func EnsureIdle(ctx context.Context, progress io.Writer, names ...string) error {
	s, err := cached(progress)
	if err != nil {
		return err
	}
	s.idle = true
	_, err = s.ensure(ctx, names)
	return err
}

// Apart returns those of the named binaries that no build of the others makes or waits for.
func Apart(names, others []string) ([]string, error) {
	used := map[*module]bool{}
	for _, name := range others {
		b, err := find(table, name)
		if err != nil {
			return nil, err
		}
		used[b.module] = true
	}
	var apart []string
	for _, name := range names {
		b, err := find(table, name)
		if err != nil {
			return nil, err
		}
		if !used[b.module] {
			apart = append(apart, name)
		}
	}
	return apart, nil
}

// Version returns the version of a binary, as its go.mod pins it.
func Version(name string) (string, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return "", err
	}
	return s.version(name)
}

// Source returns the directory with the source of a binary's module. It downloads the module if necessary.
func Source(ctx context.Context, name string) (string, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return "", err
	}
	b, err := find(s.table, name)
	if err != nil {
		return "", err
	}
	p, err := s.read(b.module)
	if err != nil {
		return "", err
	}
	dir, err := p.source(ctx, p.require)
	if err != nil {
		return "", fmt.Errorf("finding the source of %s: %w", name, err)
	}
	return dir, nil
}

// Built reports whether a binary exists already.
func Built(name string) (bool, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return false, err
	}
	_, missing, err := s.plan([]string{name})
	return len(missing) == 0, err
}

// Missing returns the steps of Ensure, one for each module of which binaries are missing.
func Missing(names ...string) ([]steps.Step, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return nil, err
	}
	_, missing, err := s.plan(names)
	var all []steps.Step
	for _, j := range missing {
		all = append(all, steps.Step{Name: j.pin.dir, Expected: j.expected()})
	}
	return all, err
}

// Module is a module of which programs are built.
type Module struct {
	Dir      string // absolute, of its pins
	Path     string // such as k8s.io/kubernetes
	Version  string
	Programs []string
	Tags     []string
	Patched  bool
	Seconds  int // of a build on two cores with nothing cached, after the modules before it
}

// Modules lists all modules in the order of builds.
func Modules() ([]Module, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return nil, err
	}
	var all []Module
	for _, b := range s.table {
		dir := filepath.Join(s.pins, b.module.dir)
		i := slices.IndexFunc(all, func(m Module) bool { return m.Dir == dir })
		if i < 0 {
			p, err := s.read(b.module)
			if err != nil {
				return nil, err
			}
			i = len(all)
			all = append(all, Module{Dir: dir, Path: b.module.require, Version: p.version, Tags: b.module.tags, Patched: b.module.patched})
		}
		all[i].Programs = append(all[i].Programs, b.name)
		all[i].Seconds += b.seconds
	}
	return all, nil
}

// List reads what go list -m -json prints for these arguments, with the pins of the module, into the value.
func (m Module) List(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-m", "-mod=mod", "-json"}, args...)...)
	cmd.Dir, cmd.Env = m.Dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=auto")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, failed.String())
	}
	return json.Unmarshal(out, into)
}

// Durations is the file with the seconds that builds took when they ran last on this machine.
func Durations() (string, error) {
	cache, err := CacheDir()
	return filepath.Join(cache, "durations.json"), err
}

// cached is the shelf in the cache directory of this user.
func cached(progress io.Writer) (shelf, error) {
	cache, err := CacheDir()
	if err != nil {
		return shelf{}, err
	}
	root, err := Root()
	if err != nil {
		return shelf{}, err
	}
	release, err := releaseIn(filepath.Join(root, "go.mod"))
	if err != nil {
		return shelf{}, err
	}
	return shelf{pins: filepath.Join(root, "hack", "binaries"), release: release, bin: filepath.Join(cache, "bin"), table: table, progress: progress}, nil
}

// shelf is a directory with built binaries.
type shelf struct {
	pins     string // directory of the module directories
	release  string // of Go, for all builds, such as go1.27.4
	bin      string // directory of the results
	table    []binary
	idle     bool // of gobuild
	progress io.Writer
}

func (s shelf) ensure(ctx context.Context, names []string) (map[string]string, error) {
	paths, missing, err := s.plan(names)
	if err != nil {
		return nil, err
	}
	for i, j := range missing {
		if err := s.build(ctx, j, fmt.Sprintf("[%d/%d]", i+1, len(missing))); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// build builds the binaries of one module. Others can be built at the same time: a test does not wait for a program that it does
// not use.
func (s shelf) build(ctx context.Context, j job, place string) error {
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	unlock, err := Lock(ctx, s.progress, j.dir)
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have built some of them while this one waited for the lock.
	j.binaries = slices.DeleteFunc(j.binaries, func(b binary) bool {
		_, err := os.Stat(filepath.Join(j.dir, b.fileName()))
		return err == nil
	})
	if len(j.binaries) == 0 {
		return nil
	}
	j.progress, j.place, j.idle = s.progress, place, s.idle
	return j.build(ctx)
}

func (s shelf) version(name string) (string, error) {
	b, err := find(s.table, name)
	if err != nil {
		return "", err
	}
	p, err := s.read(b.module)
	return p.version, err
}

// plan returns the path of each binary, and a job for each module with missing commands or missing tests.
func (s shelf) plan(names []string) (paths map[string]string, missing []job, err error) {
	paths = map[string]string{}
	for _, name := range names {
		b, err := find(s.table, name)
		if err != nil {
			return nil, nil, err
		}
		if paths[name] != "" {
			continue
		}
		p, err := s.read(b.module)
		if err != nil {
			return nil, nil, err
		}
		dir := filepath.Join(s.bin, p.key)
		paths[name] = filepath.Join(dir, b.fileName())
		if _, err := os.Stat(paths[name]); err == nil {
			continue
		}
		i := slices.IndexFunc(missing, func(j job) bool { return j.dir == dir && j.binaries[0].test == b.test })
		if i < 0 {
			i = len(missing)
			missing = append(missing, job{pin: p, dir: dir})
		}
		missing[i].binaries = append(missing[i].binaries, b)
	}
	return paths, missing, nil
}
