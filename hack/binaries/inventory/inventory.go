// Package inventory lists the programs of others that this repository builds, and how they differ from what their projects release: their
// libraries may be newer, because packages of equal versions are compiled once (hack/decisions/0074-builds.md).
package inventory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Row is one module and its programs.
type Row struct {
	pinned.Module
	// Libraries are the modules of other versions than in the project's release. A library that the project replaces by a directory, as
	// Kubernetes does, is not compared.
	Libraries []Library
}

// Library is a module that a program is built with.
type Library struct{ Path, Released, Built string }

// List compares all modules with the go.mod files of their releases, which it downloads.
func List(ctx context.Context) ([]Row, error) {
	modules, err := pinned.Modules()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, m := range modules {
		released, err := release(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("reading the go.mod of %s %s: %w", m.Path, m.Version, err)
		}
		built, err := read(filepath.Join(m.Dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Module: m, Libraries: differences(released, built)})
	}
	return rows, nil
}

// release returns the go.mod of the release.
func release(ctx context.Context, m pinned.Module) (*modfile.File, error) {
	var found struct{ GoMod string }
	if err := m.List(ctx, &found, m.Path+"@"+m.Version); err != nil {
		return nil, err
	}
	return read(found.GoMod)
}

func read(path string) (*modfile.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.ParseLax(path, text, nil)
}

// differences are sorted by path.
func differences(released, built *modfile.File) []Library {
	before, after := versions(released), versions(built)
	var all []Library
	for path, version := range before {
		if now := after[path]; now != "" && now != version && !isDirectory(released, path) {
			all = append(all, Library{path, version, now})
		}
	}
	slices.SortFunc(all, func(a, b Library) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// versions are those that a go.mod requires, or replaces them by.
func versions(f *modfile.File) map[string]string {
	all := map[string]string{}
	for _, r := range f.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range f.Replace {
		if r.New.Version != "" && r.New.Path == r.Old.Path && all[r.Old.Path] != "" {
			all[r.Old.Path] = r.New.Version
		}
	}
	return all
}

func isDirectory(f *modfile.File, path string) bool {
	return slices.ContainsFunc(f.Replace, func(r *modfile.Replace) bool { return r.Old.Path == path && r.New.Version == "" })
}

// Markdown writes the page.
func Markdown(rows []Row) (string, error) {
	var b strings.Builder
	fmt.Fprint(&b, `<!-- Written by: make inventory. -->

# Programs of others

The test environments build these programs from their modules. Seconds are about those of a build on two cores with nothing cached, in the order of the
table of package `+"`pinned`"+`: a later program shares packages of the earlier ones. Libraries are those of another, mostly newer, version than in the
project's release; libraries that a project replaces by a directory are not compared.

| Programs | Module | Version | Seconds | Libraries of other versions |
|---|---|---|---|---|
`)
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %s |\n", Begin(r.Module), count(len(r.Libraries)))
	}
	fmt.Fprint(&b, "\n## Libraries of other versions\n")
	for _, r := range rows {
		if len(r.Libraries) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s %s\n\n| Library | Released with | Built with |\n|---|---|---|\n", r.Path, r.Version)
		for _, l := range r.Libraries {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", l.Path, l.Released, l.Built)
		}
	}
	var modules []pinned.Module
	for _, r := range rows {
		modules = append(modules, r.Module)
	}
	digest, err := Digest(modules)
	fmt.Fprintf(&b, "\n%s\n", digest)
	return b.String(), err
}

// Digest is a comment of the page with the hash of all go.mod files of pins, so that a page is recognized that is older than they are.
func Digest(modules []pinned.Module) (string, error) {
	h := sha256.New()
	for _, m := range modules {
		text, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", m.Path, len(text), text)
	}
	return fmt.Sprintf("<!-- Hash of the go.mod files: %x. -->", h.Sum(nil)), nil
}

// Begin is the part of a module's row that depends on the pins alone.
func Begin(m pinned.Module) string {
	what := ""
	if len(m.Tags) > 0 {
		what += ", tags " + strings.Join(m.Tags, " ")
	}
	if m.Patched {
		what += ", patched"
	}
	return fmt.Sprintf("| %s | %s%s | %s | %d |", strings.Join(m.Programs, ", "), m.Path, what, m.Version, m.Seconds)
}

func count(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}
