package awsemulator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

//go:embed requirements.txt commandline.txt emulator/*.py
var files embed.FS

// installation says where the parts of an installed emulator are.
type installation struct {
	python string // the interpreter of the virtual environment
	source string // the folder that holds the Python package
}

// install makes sure that the pinned packages and our Python code are in the cache.
// Both folders carry a hash of their content in their name: a change makes a new one,
// and nothing is ever half old and half new.
func install(ctx context.Context, progress io.Writer) (installation, error) {
	root, unlock, err := cache()
	if err != nil {
		return installation{}, err
	}
	defer unlock()

	source, err := installSource(root)
	if err != nil {
		return installation{}, err
	}
	python, err := installPackages(ctx, root, "aws emulator", "requirements.txt", progress)
	return installation{python: python, source: source}, err
}

// CommandLine installs the command line of AWS into the cache, and returns the folder of the program aws.
func CommandLine(ctx context.Context, progress io.Writer) (string, error) {
	root, unlock, err := cache()
	if err != nil {
		return "", err
	}
	defer unlock()
	python, err := installPackages(ctx, root, "aws command line", "commandline.txt", progress)
	return filepath.Dir(python), err
}

// cache returns the folder of the installations. A file lock keeps test packages that run
// side by side from installing at the same time.
func cache() (root string, unlock func(), err error) {
	dir, err := pinned.CacheDir()
	if err != nil {
		return "", nil, err
	}
	root = filepath.Join(dir, "awsemulator")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", nil, fmt.Errorf("making the emulator's cache: %w", err)
	}
	unlock, err = lock(filepath.Join(root, "lock"))
	return root, unlock, err
}

func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the emulator's lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing the file gives the lock back
}

// installSource unpacks the Python code that is embedded in this package, so that a
// compiled test finds it wherever it runs.
func installSource(root string) (string, error) {
	names, err := fs.Glob(files, "emulator/*.py")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	content := map[string][]byte{}
	for _, name := range names {
		if content[name], err = files.ReadFile(name); err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content[name]), content[name])
	}
	dir := filepath.Join(root, "source-"+shortHash(hash.Sum(nil)))
	return dir, complete(dir, func() error {
		if err := os.MkdirAll(filepath.Join(dir, "emulator"), 0o755); err != nil {
			return err
		}
		for name, text := range content {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// installPackages makes a virtual environment, and returns its interpreter. Each package is checked against the
// hashes in the file.
func installPackages(ctx context.Context, root, what, file string, progress io.Writer) (string, error) {
	requirements, err := files.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(root, "venv-"+shortHash(sum[:]))
	python := filepath.Join(dir, "bin", "python")
	return python, complete(dir, func() error {
		host, err := findPython(ctx, pythons)
		if err != nil {
			return err
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

// complete runs fill for a folder that has not been filled to the end before.
func complete(dir string, fill func() error) error {
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
	return "", fmt.Errorf("the AWS emulator needs Python 3.11 or later with venv "+
		"(Debian and Ubuntu: apt install python3 python3-venv): %w", errors.Join(append(failures, exec.ErrNotFound)...))
}

// run runs a command and puts what it said into the error.
func run(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w\n%s", name, args[0], err, bytes.TrimSpace(output))
	}
	return nil
}

func shortHash(sum []byte) string {
	return hex.EncodeToString(sum)[:12]
}
