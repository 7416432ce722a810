// Package cost estimates the packages that builds compile with empty caches, without compiling anything:
//
//	go list -deps  ─►  key of each package, as in the build cache of Go  ─►      packages that no earlier build has compiled
//
// The build cache shares a package between two builds only if they compile the same files of the same version with the same
// release of Go and the same flags, and if all that holds for each package that it imports. One different version of
// golang.org/x/sys is enough for another compilation of client-go and of all that imports it.
package cost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// perMegabyte are the CPU seconds that compile a megabyte of Go: see decision 0074 for the measurement.
const perMegabyte = 5.0

// Build is a build.
type Build struct{ gobuild.Spec }

// Account lists builds in their order.
type Account struct {
	Builds []Sum
	// Modules are the modules that are compiled more than once, those with the most repeated source first.
	Modules []Module
}

// Sum holds the packages and bytes that one build compiles.
type Sum struct {
	Name string
	// Packages and Bytes are all packages of the build. New are the packages that no build before it has compiled.
	Packages, New   int
	Bytes, NewBytes int64
}

// Module is a module of which the same package is compiled several times.
type Module struct {
	Path string
	// Versions are the versions that are compiled, and Compilations how often they are: the same version is compiled again if
	// one of its imports differs.
	Versions     []string
	Compilations int
	// Bytes is the source that is compiled, Repeated the part that would be saved if each package were compiled once.
	Bytes, Repeated int64
	Builds          []string
}

// Of lists the packages of builds. It runs `go list`, which downloads missing modules to the module cache.
func Of(ctx context.Context, builds []Build) (Account, error) {
	var account Account
	compiled := map[string]bool{}
	modules := map[string]*tally{}
	for _, b := range builds {
		packages, err := b.list(ctx)
		if err != nil {
			return account, fmt.Errorf("listing the packages of %s: %w", b.Label, err)
		}
		sum := Sum{Name: b.Label}
		for _, p := range packages {
			sum.Packages++
			sum.Bytes += p.size
			if compiled[p.key] {
				continue
			}
			compiled[p.key] = true
			sum.New++
			sum.NewBytes += p.size
			m := modules[p.module]
			if m == nil {
				m = &tally{packages: map[string][]int64{}, versions: map[string]bool{}}
				modules[p.module] = m
			}
			m.add(b.Label, p)
		}
		account.Builds = append(account.Builds, sum)
	}
	for path, m := range modules {
		if one := m.module(path); one.Compilations > 1 {
			account.Modules = append(account.Modules, one)
		}
	}
	slices.SortFunc(account.Modules, func(a, b Module) int {
		return cmp.Or(cmp.Compare(b.Repeated, a.Repeated), cmp.Compare(a.Path, b.Path))
	})
	return account, nil
}

// tally counts the compilations of the packages of one module.
type tally struct {
	packages map[string][]int64 // sizes of the compiled variants, by import path
	versions map[string]bool
	builds   []string
}

func (t *tally) add(build string, p pkg) {
	t.packages[p.path] = append(t.packages[p.path], p.size)
	t.versions[p.version] = true
	if !slices.Contains(t.builds, build) {
		t.builds = append(t.builds, build)
	}
}

func (t *tally) module(path string) Module {
	m := Module{Path: path, Builds: t.builds}
	for version := range t.versions {
		m.Versions = append(m.Versions, version)
	}
	slices.Sort(m.Versions)
	for _, sizes := range t.packages {
		m.Compilations = max(m.Compilations, len(sizes))
		var sum int64
		for _, size := range sizes {
			sum += size
		}
		m.Bytes += sum
		m.Repeated += sum - slices.Max(sizes)
	}
	return m
}

// pkg is a package that a build compiles.
type pkg struct {
	path, module, version string
	key                   string
	size                  int64
}

// listed is the part of the output of `go list` that decides about the key of a package.
type listed struct {
	Dir, ImportPath                   string
	Standard                          bool
	Module                            *struct{ Path, Version, GoVersion string }
	GoFiles, CgoFiles, CFiles, HFiles []string
	SFiles, SysoFiles, EmbedFiles     []string
	Imports                           []string
	ImportMap                         map[string]string
	Error                             *struct{ Err string }
}

func (b Build) list(ctx context.Context) ([]pkg, error) {
	release, err := b.run(ctx, "env", "GOVERSION", "GOARCH", "GOAMD64")
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-e", "-deps", "-json=Dir,ImportPath,Standard,Module,GoFiles,CgoFiles,CFiles,HFiles,SFiles,SysoFiles,EmbedFiles,Imports,ImportMap,Error"}
	if b.Test {
		args = append(args, "-test")
	}
	for _, flag := range b.Flags {
		if !strings.HasPrefix(flag, "-ldflags") { // only links depend on them
			args = append(args, flag)
		}
	}
	out, err := b.run(ctx, append(args, b.Packages...)...)
	if err != nil {
		return nil, err
	}
	trimmed := slices.Contains(b.Flags, "-trimpath")
	var all []pkg
	keys := map[string]string{}
	// Each package comes after all that it imports.
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if l.Error != nil {
			return nil, errors.New(l.Error.Err)
		}
		p := l.pkg(string(release), trimmed, keys)
		keys[l.ImportPath] = p.key
		all = append(all, p)
	}
}

// pkg computes the key and the size of a package. keys are the keys of its imports.
func (l listed) pkg(release string, trimmed bool, keys map[string]string) pkg {
	p := pkg{module: "std"}
	p.path, _, _ = strings.Cut(l.ImportPath, " [") // a variant for a test
	language, dir := "", ""
	if l.Module != nil {
		p.module, p.version, language = l.Module.Path, l.Module.Version, l.Module.GoVersion
		if !trimmed {
			dir = l.Dir
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %s@%s %s\n", release, l.ImportPath, dir, p.module, p.version, language)
	for _, name := range slices.Concat(l.GoFiles, l.CgoFiles, l.CFiles, l.HFiles, l.SFiles, l.SysoFiles, l.EmbedFiles) {
		fmt.Fprintln(h, filepath.Base(name))
	}
	for _, name := range l.Imports {
		if mapped := l.ImportMap[name]; mapped != "" {
			name = mapped
		}
		fmt.Fprintf(h, "%s %x\n", name, keys[name])
	}
	p.key = string(h.Sum(nil))
	for _, name := range slices.Concat(l.GoFiles, l.CgoFiles) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.Dir, name)
		}
		if info, err := os.Stat(name); err == nil { // go list names generated files of tests, which do not exist
			p.size += info.Size()
		}
	}
	return p
}

func (b Build) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.Dir, append(os.Environ(), b.Env...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, failed.String())
	}
	return out, nil
}

// Print writes both tables. The modules are those with at least a tenth of a minute of repeated compilations.
func (a Account) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "packages\tMB\tof these new\tMB\tCPU min\t  build")
	var all Sum
	for _, s := range a.Builds {
		s.print(w)
		all.Packages, all.Bytes = all.Packages+s.Packages, all.Bytes+s.Bytes
		all.New, all.NewBytes = all.New+s.New, all.NewBytes+s.NewBytes
	}
	all.Name = "all"
	all.print(w)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(to)
	w = tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "compiled several times\tversions\ttimes\tCPU min\trepeated\tbuilds")
	for _, m := range a.Modules {
		if minutes(m.Repeated) >= 0.1 {
			fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%.1f\t%s\n", m.Path, len(m.Versions), m.Compilations, minutes(m.Bytes), minutes(m.Repeated), strings.Join(m.Builds, " "))
		}
	}
	return w.Flush()
}

func (s Sum) print(w io.Writer) {
	fmt.Fprintf(w, "%d\t%.0f\t%d\t%.0f\t%.1f\t  %s\n", s.Packages, megabytes(s.Bytes), s.New, megabytes(s.NewBytes), minutes(s.NewBytes), s.Name)
}

func megabytes(size int64) float64 { return float64(size) / 1e6 }

func minutes(size int64) float64 { return megabytes(size) * perMegabyte / 60 }
