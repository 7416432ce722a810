// Package prebuilt keeps programs of this repository for checkouts with the same source, on this machine or another one:
//
//	<cache>/prebuilt/<hash of the source tree>-<Go release>-<architecture>/<program>
//
// The hash is that of git. A checkout with changes has none, and its programs are built from source.
package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// environment is that of the builds: settings of the user must not be in programs for other machines.
var environment = []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0"}

// Operators is the build of the content of the operators' image, as in Dockerfile. Its Dir is relative to the root.
var Operators = gobuild.Spec{
	Label: "building the operators", Dir: ".", Env: []string{"CGO_ENABLED=0"},
	Flags:    []string{"-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w"},
	Packages: []string{"./hypershift-operator", "./control-plane-operator", "./control-plane-operator/sidecar", "./cmd/console"},
}

// demo is the build of the other programs that a demo needs.
var demo = gobuild.Spec{
	Label: "building the demo", Dir: "test/lab", Flags: []string{"-trimpath"},
	Packages: []string{"github.com/hosted-control-planes/hypershift/test/lab/demo", "github.com/hosted-control-planes/hypershift/test/lab"},
}

// ErrChanged is the reason why a checkout has no programs of its own: its source is not that of a commit.
var ErrChanged = errors.New("the checkout differs from its commit")

// Program returns the path of a program of the checkout at root, or "" if it must be built.
func Program(ctx context.Context, root, name string) (string, error) {
	dir, err := dirOf(ctx, root)
	if err != nil {
		return "", nil //nolint:nilerr // it is built from source
	}
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("looking for %s: %w", name, err)
	}
	return program, nil
}

// Build builds all programs that a demo needs, unless they exist, and returns their paths. Its error is ErrChanged, or that of git, for a
// checkout that has none.
func Build(ctx context.Context, progress io.Writer, root string) ([]string, error) {
	dir, err := dirOf(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), ".unfinished-")
	if err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	defer os.RemoveAll(unfinished)
	var paths []string
	for _, spec := range []gobuild.Spec{Operators, demo} {
		spec.Dir, spec.Output, spec.Env = filepath.Join(root, spec.Dir), unfinished, environment
		for _, p := range spec.Packages {
			paths = append(paths, filepath.Join(dir, spec.Executable(p)))
		}
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		if err := gobuild.Run(ctx, progress, spec); err != nil {
			return nil, err
		}
	}
	// The source may have changed during the builds.
	if again, err := dirOf(ctx, root); err != nil || again != dir {
		return nil, ErrChanged
	}
	if _, err := os.Stat(dir); err == nil {
		return paths, nil
	}
	return paths, errors.Join(os.Chmod(unfinished, 0o755), os.Rename(unfinished, dir))
}

// dirOf returns the directory of the programs of a checkout, which need not exist.
func dirOf(ctx context.Context, root string) (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	hash, err := tree(ctx, root)
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "prebuilt", strings.Join([]string{hash, runtime.Version(), runtime.GOARCH}, "-")), nil
}

// tree is the hash of the source. A root inside another repository has none.
func tree(ctx context.Context, root string) (string, error) {
	prefix, err := git(ctx, root, "rev-parse", "--show-prefix")
	if err != nil {
		return "", err
	}
	if prefix != "" {
		return "", fmt.Errorf("%s is a part of another repository", root)
	}
	changes, err := git(ctx, root, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	if changes != "" {
		return "", ErrChanged
	}
	return git(ctx, root, "rev-parse", "HEAD^{tree}")
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	var failed strings.Builder
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(failed.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
