// Package venv makes virtual environments of Python with pinned packages, in the cache of this project.
package venv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Install makes a virtual environment with the packages of a requirements file, unless it exists, and returns its interpreter.
func Install(ctx context.Context, what string, requirements []byte, progress io.Writer) (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "venv")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("making the cache of virtual environments: %w", err)
	}
	unlock, err := Lock(filepath.Join(root, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	return InstallIn(ctx, root, what, requirements, progress)
}

// InstallIn is Install in a folder, which the caller has locked. Each package is checked against the hashes in the file.
func InstallIn(ctx context.Context, root, what string, requirements []byte, progress io.Writer) (string, error) {
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(root, "venv-"+ShortHash(sum[:]))
	python := filepath.Join(dir, "bin", "python")
	return python, Complete(dir, func() error {
		host, err := findPython(ctx, pythons)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		fmt.Fprintf(progress, "%s: making a virtual environment with %s in %s\n", what, host, dir)
		if err := run(ctx, host, "-m", "venv", dir); err != nil {
			return err
		}
		list := filepath.Join(dir, "requirements.txt")
		if err := os.WriteFile(list, requirements, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(progress, "%s: installing %d packages\n", what, bytes.Count(requirements, []byte("==")))
		return run(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", list)
	})
}

// Complete runs fill for a folder that has not been filled to the end before.
func Complete(dir string, fill func() error) error {
	marker := filepath.Join(dir, ".complete")
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing what an interrupted installation left: %w", err)
	}
	if err := fill(); err != nil {
		return fmt.Errorf("installing into %s: %w", dir, err)
	}
	return os.WriteFile(marker, nil, 0o644)
}

// Lock keeps processes that run side by side from installing at the same time.
func Lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing the file gives the lock back
}

// ShortHash is the part of a hash that names a folder.
func ShortHash(sum []byte) string { return hex.EncodeToString(sum)[:12] }

// pythons are tried in this order. The first one on the PATH may be a shim of a version
// manager without a usable version.
var pythons = []string{"python3", "/usr/bin/python3", "python3.14", "python3.13", "python3.12", "python3.11"}

// findPython looks for an interpreter that can make virtual environments.
func findPython(ctx context.Context, candidates []string) (string, error) {
	const check = "import sys, venv, ensurepip; sys.exit(0 if sys.version_info >= (3, 11) else 'Python 3.11 is needed, this is ' + sys.version)"
	var failures []error
	for _, name := range candidates {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if err = run(ctx, path, "-c", check); err == nil {
			return path, nil
		}
		failures = append(failures, err)
	}
	return "", fmt.Errorf("Python 3.11 or later with venv is needed "+
		"(Debian and Ubuntu: apt install python3 python3-venv): %w", errors.Join(append(failures, exec.ErrNotFound)...))
}

// run runs a command and puts its output into the error.
func run(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w\n%s", name, args[0], err, bytes.TrimSpace(output))
	}
	return nil
}
