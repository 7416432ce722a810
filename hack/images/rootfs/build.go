package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

// builder is the program that installs Debian into a directory.
const builder = "mmdebstrap"

// arguments make the root small: these machines need no manuals.
var arguments = []string{
	"--variant=minbase", "--mode=root", "--format=directory", "--quiet",
	`--aptopt=Acquire::Languages "none"`, `--aptopt=APT::Install-Recommends "false"`,
	"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
}

// Missing returns the missing prerequisite of this host for building roots and how to fix it, or "".
func Missing() string {
	if _, err := exec.LookPath(builder); err != nil {
		return builder + ": apt-get install " + builder + ", for machines of node pools"
	}
	return ""
}

// Ensure builds a root if it is missing, and returns its path.
func Ensure(ctx context.Context, progress io.Writer, name string) (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	return store{dir: filepath.Join(cache, "machines"), gib: 1, progress: progress}.ensure(ctx, name)
}

// Built reports whether a root exists already.
func Built(name string) (bool, error) {
	r, err := find(name)
	if err != nil {
		return false, err
	}
	key, err := r.key()
	if err != nil {
		return false, err
	}
	cache, err := pinned.CacheDir()
	if err != nil {
		return false, err
	}
	return built(filepath.Join(cache, "machines", key)), nil
}

// step is the name of the step that builds a root.
func step(name string) string { return "root file system " + name }

// MissingSteps returns the steps of Ensure for those of the roots that are missing.
func MissingSteps(names ...string) ([]steps.Step, error) {
	var missing []steps.Step
	for _, name := range names {
		built, err := Built(name)
		if err != nil {
			return nil, err
		}
		if !built {
			missing = append(missing, steps.Step{Name: step(name), Expected: 30 * time.Second})
		}
	}
	return missing, nil
}

// store is a directory with built roots.
type store struct {
	dir      string
	gib      uint64 // free disk space for a build
	progress io.Writer
}

func (s store) ensure(ctx context.Context, name string) (string, error) {
	r, err := find(name)
	if err != nil {
		return "", err
	}
	key, err := r.key()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.dir, key)
	if built(dir) {
		return filepath.Join(dir, "root"), nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache: %w", err)
	}
	unlock, err := pinned.Lock(ctx, s.progress, s.dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	// Another process may have built it while this one waited for the lock.
	if !built(dir) {
		if err := s.build(ctx, r, dir); err != nil {
			return "", fmt.Errorf("building the root file system %s: %w", r.name, err)
		}
	}
	return filepath.Join(dir, "root"), nil
}

func built(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

func (s store) build(ctx context.Context, r recipe, dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root, because its files belong to several users")
	}
	if missing := Missing(); missing != "" {
		return errors.New(missing)
	}
	if err := pinned.CheckDisk(s.dir, s.gib); err != nil {
		return err
	}
	_, shows := s.progress.(steps.Reporter)
	if !shows {
		fmt.Fprintf(s.progress, "building the root file system %s: once per recipe, about 1 min on two cores\n", r.name)
	}
	started, end := time.Now(), steps.Begin(s.progress, step(r.name))

	// The result is renamed atomically: an interrupted build leaves no root under its name.
	unfinished, err := os.MkdirTemp(s.dir, ".unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	if err := os.Chmod(unfinished, 0o755); err != nil {
		return err
	}
	root := filepath.Join(unfinished, "root")
	if err := r.install(ctx, root); err != nil {
		return err
	}
	packages, err := exec.CommandContext(ctx, "dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"), "--show").Output()
	if err != nil {
		return fmt.Errorf("listing the installed packages: %w", err)
	}
	for _, step := range []func() error{
		func() error { return os.WriteFile(filepath.Join(unfinished, "packages"), packages, 0o644) },
		func() error { return remove(root) },
		func() error { return mask(root) },
		func() error { return r.write(root) },
		func() error { return os.Rename(unfinished, dir) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	end()
	if !shows {
		fmt.Fprintf(s.progress, "built the root file system %s in %.0f s\n", r.name, time.Since(started).Seconds())
	}
	return nil
}

// install runs the builder with the packages.
func (r recipe) install(ctx context.Context, root string) error {
	var include []string
	for _, p := range r.packages {
		include = append(include, "--include="+p)
	}
	args := append(append(append([]string{}, arguments...), include...), suite, root)
	out, err := exec.CommandContext(ctx, builder, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", builder, err, out)
	}
	return nil
}

func remove(root string) error {
	for _, pattern := range removed {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func mask(root string) error {
	for _, unit := range masked {
		if err := os.Symlink("/dev/null", filepath.Join(root, "etc/systemd/system", unit)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func (r recipe) write(root string) error {
	return r.walk(func(path string, content []byte) error {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o644)
	})
}
